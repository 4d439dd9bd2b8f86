/* SPDX-License-Identifier: MIT */
/* open_files.h - open files. A handle keeps the content of its open(): later grafts do not reach
 * it. If a signal ends the mount, open files are released with the list. */
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

/* A nameless writer (write_opens.h), such as smbd, writes through the inode that readers hold. Its
 * handle has a stage of its own, unknown to the kernel, and the readers' inode stays unchanged:
 *
 * 1. The handle uses direct I/O: its writes and reads bypass the inode's pages. A read for a page,
 *    which has no lock owner, returns the readers' bytes.
 * 2. Attributes are the readers', even after the writer has set a size, so that the kernel keeps
 *    its pages.
 * 3. After a write beyond the end the kernel assumes a larger file until it asks again; readers
 *    with the file open would see zeros behind its end. The file therefore cannot grow while such a
 *    reader exists, and later readers bypass the page cache (direct).
 * 4. Since Linux 6.6 a file open for direct I/O may have shared maps, if libfuse asks for that
 *    (ops.c). A write through such a map changes pages of readers without a request to the daemon.
 *    It goes to the stage, and each later open drops the pages (fresh). Only a reader that has the
 *    file open at that moment sees the write. */

/* The last writer through an open file, at first the process that opened it. A close() by another
 * process changes nothing: the kernel reports every close of every descriptor, also at the end or
 * exec of a child that inherited one. The kernel sends the lock owner with write() and close(), but
 * not with open(), ftruncate(), copy_file_range() or a write through the page cache; it also sends
 * the thread, which is unknown if this process cannot see it (pid_namespaces(7)). A page changed
 * through a map carries neither: it counts as the last writer's or, if that process has closed the
 * file, the opener's. If neither owner nor process is known, any close counts. */
struct last_writer {
	pthread_mutex_t lock;  /* protects the fields below */
	uint64_t owner;	       /* 0: not known */
	pid_t process, opener; /* 0: not known */
	pid_t thread;	       /* thread of the last write without an owner */
	bool busy;	       /* not closed since the last write */
};

/* A file with processes waiting in poll(2); protected by the lock of struct pollers (mount.h). */
struct poller {
	struct fuse_pollhandle *handle; /* NULL: no process waits, or the kernel is notified */
	struct poller *next, **link;
};

struct open_file {
	struct inode *inode;
	struct view *view;	  /* NULL for a stage; a nameless writer has the readers' view */
	struct page_trail *trail; /* of a reader; NULL: none */
	bool writes;		  /* opened for writing */
	/* user of the process that opened the file. The daemon acts with these rights: a privileged
	 * program can be made to write to an inherited descriptor. */
	uid_t uid;
	gid_t gid;		     /* group of that process */
	bool maps;		     /* may have writable shared maps */
	struct read_mode *mode;	     /* of the inode, left at the release; NULL: the daemon reads */
	struct written_words *words; /* of a writer of a file with WRITE_OBEYED; else NULL */
	struct poller poller;
	struct last_writer writer;
	atomic_bool emptied; /* truncated and closed (in_flight.h): the release may be on its way */
	/* Nameless writer: number of the readers' inode (0: not nameless), and the thread that
	 * opened it. */
	uint64_t nameless;
	pid_t thread;
	bool direct, fresh; /* set by open_files_add() for a reader, see 3 and 4 */
	/* Owned and protected by the list: */
	bool grown;
	struct open_file *next, **link;
};

struct open_files; /* any thread may use it */

/* inodes and modes are borrowed. NULL: out of memory. */
struct open_files *open_files_new(struct inodes *inodes, struct read_modes *modes);
void open_files_free(struct open_files *handles); /* closes all open handles */

/* New handle of an inode that shows view; takes ownership of both on success. writes: opened for
 * writing, by that thread (0: not known). NULL: out of memory. */
struct open_file *open_files_add(struct open_files *handles, struct inode *inode, struct view *view,
				 bool writes, pid_t thread);
void open_files_close(struct open_files *handles, struct open_file *handle);

/* Like open_files_add(), for a nameless writer: inode is the stage's, readers the number of the
 * inode by which it was opened, view the readers'. */
struct open_file *open_files_add_nameless(struct open_files *handles, struct inode *inode,
					  struct view *view, uint64_t readers, pid_t thread);

/* Stage's inode of the nameless writer that thread has opened by the inode readers, to release with
 * inodes_put(). NULL: none. */
struct inode *open_files_find_nameless(struct open_files *handles, uint64_t readers, pid_t thread);

/* May the nameless writer write up to the offset end? */
bool open_files_may_write_to(struct open_files *handles, struct open_file *handle, uint64_t end);

/* A stage is committed, and words are obeyed, when the last writer closes the file and no other
 * open file of the stage is busy; later writes through a map are committed at the release.
 *
 * open_file_record_write() records a process about to write, open_file_record_close() one that has
 * closed a descriptor (op_flush()); owner and thread are 0 if not known. open_file_record_close(),
 * and open_file_release() at the end of the handle, return true if no writer is busy any more;
 * false for a reader. */
void open_file_record_write(struct open_file *handle, uint64_t owner, pid_t thread);
bool open_file_record_close(struct open_file *handle, uint64_t owner, pid_t thread);
bool open_file_release(struct open_file *handle);

#endif
