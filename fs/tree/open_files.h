/* SPDX-License-Identifier: MIT */
/* handles.h - open files. A handle holds what it read when it was opened: a graft made since does
 * not reach it. When a signal ends the mount, files are still open; what they hold is let go of
 * with the list. */
#ifndef FS_HANDLES_H
#define FS_HANDLES_H

#include "fs/tree/inodes.h"
#include "fs/tree/undo_words.h"

#include <stdatomic.h>
#include <sys/types.h>

/* A writer without a name (writers.h) has to write through the inode that readers hold. Its handle
 * has a stage of its own all the same, which the kernel knows nothing of, and the readers' inode
 * stays as it is:
 *
 * 1. The handle is for direct I/O: what it writes and reads passes no page of the inode. A read
 *    for a page, which comes without a lock owner, gives what readers see.
 * 2. Attributes are the readers', also after the writer has set a size: so the kernel keeps its
 *    pages.
 * 3. A write beyond the end makes the kernel believe in a larger file until it asks again; readers
 *    that have the file open would see zeros behind its end. So the file cannot grow as long as
 *    there is such a reader, and a reader that opens it afterwards reads without pages (direct).
 * 4. Since Linux 6.6 a file that is open for direct I/O may have shared maps, where libfuse asks
 *    for that (ops.c). What is written through such a map is in pages of readers, and the kernel
 *    does not ask the daemon before. It goes to the stage; and each later open throws the pages
 *    away (fresh). Only a reader that has the file open at that moment sees it. */

struct handle {
	struct node *node;
	struct view *view;   /* NULL for a stage, but for a writer without a name: the readers' */
	bool writes;	     /* opened for writing */
	bool maps;	     /* it may have shared maps that are written to */
	struct words *words; /* of a writer of .undo; else NULL */
	/* Of a writer of a stage: 0 it was closed since it wrote, HANDLE_BUSY it was not, else the
	 * lock owner of the process whose close ends it. */
	atomic_uint_fast64_t busy;
	atomic_bool emptied; /* and closed, which pending.h knows: the release may be on its way */
	/* The number of the readers' inode, and the thread that opened it, where it is a writer
	 * without a name; 0: it is none. */
	uint64_t nameless;
	pid_t thread;
	bool direct, fresh; /* set by handles_open() for a reader, as 3 and 4 say */
	/* Of the list, which protects them. */
	bool grown;
	struct handle *next, **link;
};

struct handles; /* any thread may use it */

/* nodes is borrowed. NULL: out of memory. */
struct handles *handles_new(struct nodes *nodes);
void handles_free(struct handles *handles); /* with every handle that is still open */

/* A handle of a node that shows view; both become the handle's, unless there is no memory: NULL.
 * writes: it was opened for writing. */
struct handle *handles_open(struct handles *handles, struct node *node, struct view *view,
			    bool writes);
void handles_close(struct handles *handles, struct handle *handle);

/* The same for a writer without a name, by that thread: node is the stage's, readers the number of
 * the inode that it was opened by, view what that shows. */
struct handle *handles_open_nameless(struct handles *handles, struct node *node, struct view *view,
				     uint64_t readers, pid_t thread);

/* The stage's node of the writer without a name that the thread has opened by that inode, to
 * release with nodes_put(). NULL: there is none. */
struct node *handles_nameless(struct handles *handles, uint64_t readers, pid_t thread);

/* May that writer write up to end? */
bool handles_may_reach(struct handles *handles, struct handle *handle, uint64_t end);

/* A stage is put in force by the last close of its writers. The kernel tells of every close of
 * every descriptor of a handle, also when a child process that inherited one executes a program.
 * So a handle that is written to waits for the close by the process that wrote, which is known by
 * its lock owner; 0, which comes with pages that were mapped or cached, is any process.
 *
 * handle_begin() says that a process is about to write. handle_end() says that it has closed a
 * descriptor, and returns whether the stage is to be put in force: no writer is busy any more.
 * handle_release() says the same of the handle's end. Both are false for a reader. */
#define HANDLE_BUSY 1
void handle_begin(struct handle *handle, uint64_t owner);
bool handle_end(struct handle *handle, uint64_t owner);
bool handle_release(struct handle *handle);

#endif
