/* SPDX-License-Identifier: MIT */
/* open_files.h - open files. A handle holds what it read when it was opened: a graft made since
 * does not reach it. When a signal ends the mount, files are still open; what they hold is let go
 * of with the list. */
#ifndef FS_TREE_OPEN_FILES_H
#define FS_TREE_OPEN_FILES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct fuse_pollhandle;
struct inodes;
struct read_modes;

/* A writer without a name (write_opens.h), as smbd is, writes through the inode that readers hold.
 * Its handle has a stage of its own all the same, which the kernel knows nothing of, and the
 * readers' inode stays as it is:
 *
 * 1. The handle is for direct I/O: what it writes and reads passes no page of the inode. A read for
 *    a page, which comes without a lock owner, gives what readers see.
 * 2. Attributes are the readers', also after the writer has set a size: so the kernel keeps its
 *    pages.
 * 3. A write beyond the end makes the kernel believe in a larger file until it asks again; readers
 *    that have the file open would see zeros behind its end. So the file cannot grow as long as
 *    there is such a reader, and a reader that opens it afterwards reads without pages (direct).
 * 4. Since Linux 6.6 a file that is open for direct I/O may have shared maps, where libfuse asks
 *    for that (ops.c). What is written through such a map is in pages of readers, and the kernel
 *    does not ask the daemon before. It goes to the stage; and each later open throws the pages
 *    away (fresh). Only a reader that has the file open at that moment sees it. */

/* The process that wrote last through an open file, at first the one that opened it. A close() by
 * any other process changes nothing: the kernel tells of every close of every descriptor, also when
 * a child that has inherited one ends or executes a program. The kernel tells of the lock owner
 * with a write() and a close(), but not with open(), ftruncate(), copy_file_range() or a write
 * through the page cache, and of the thread, which is not known where this process cannot see it
 * (pid_namespaces(7)). A page that was changed through a map comes from no known process: it is
 * the last writer's or, if that has closed the file, the opener's. If neither owner nor process is
 * known, any close counts. */
struct last_writer {
	pthread_mutex_t lock;  /* protects the others */
	uint64_t owner;	       /* 0: not known */
	pid_t process, opener; /* 0: not known */
	pid_t thread;	       /* the thread that wrote last, if it came without an owner */
	bool busy;	       /* the process has not closed the file since */
};

/* A file on which processes wait by poll(2). The lock of struct pollers (mount.h) protects it. */
struct poller {
	struct fuse_pollhandle *handle; /* NULL: no process waits, or the kernel was told */
	struct poller *next, **link;
};

struct open_file {
	struct inode *inode;
	struct view *view; /* NULL for a stage, but for a writer without a name: the readers' */
	struct page_trail *trail; /* of a reader; NULL: there is none */
	bool writes;		  /* opened for writing */
	uid_t uid; /* of the process that opened it, for which it acts: a program that */
	gid_t gid; /* may do more can be made to write to a descriptor that it was given */
	bool maps; /* it may have shared maps that are written to */
	struct read_mode *mode;	  /* of its inode, left when it goes; NULL: the daemon reads */
	struct undo_words *words; /* of a writer of .undo or .recipe; else NULL */
	struct poller poller;
	struct last_writer writer;
	atomic_bool
		emptied; /* and closed, which in_flight.h knows: the release may be on its way */
	/* The number of the readers' inode, and the thread that opened it, where it is a writer
	 * without a name; 0: it is none. */
	uint64_t nameless;
	pid_t thread;
	bool direct, fresh; /* set by open_files_add() for a reader, as 3 and 4 say */
	/* Of the list, which protects them. */
	bool grown;
	struct open_file *next, **link;
};

struct open_files; /* any thread may use it */

/* inodes and modes are borrowed. NULL: out of memory. */
struct open_files *open_files_new(struct inodes *inodes, struct read_modes *modes);
void open_files_free(struct open_files *handles); /* with every handle that is still open */

/* A handle of an inode that shows view; both become the handle's, unless there is no memory: NULL.
 * writes: it was opened for writing, by that thread, or 0. */
struct open_file *open_files_add(struct open_files *handles, struct inode *inode, struct view *view,
				 bool writes, pid_t thread);
void open_files_close(struct open_files *handles, struct open_file *handle);

/* The same for a writer without a name, by that thread: inode is the stage's, readers the number of
 * the inode that it was opened by, view what that shows. */
struct open_file *open_files_add_nameless(struct open_files *handles, struct inode *inode,
					  struct view *view, uint64_t readers, pid_t thread);

/* The stage's inode of the writer without a name that the thread has opened by that inode, to
 * release with inodes_put(). NULL: there is none. */
struct inode *open_files_find_nameless(struct open_files *handles, uint64_t readers, pid_t thread);

/* May that writer write up to end? */
bool open_files_may_write_to(struct open_files *handles, struct open_file *handle, uint64_t end);

/* A stage is put in force, and words are obeyed, when the last writer closes the file and no other
 * open file of the stage is busy; what was written through a map after that, with the release.
 *
 * open_file_begin() says that a process is about to write, open_file_end() that it has closed a
 * descriptor; owner and thread are 0 where they are not known. open_file_end(), and at the end of
 * the handle open_file_release(), return whether no writer is busy any more; false for a reader. */
void open_file_begin(struct open_file *handle, uint64_t owner, pid_t thread);
bool open_file_end(struct open_file *handle, uint64_t owner, pid_t thread);
bool open_file_release(struct open_file *handle);

#endif
