/* SPDX-License-Identifier: MIT */
/* handles.h - open files. A handle holds what it read when it was opened: a graft made since does
 * not reach it. When a signal ends the mount, files are still open; what they hold is let go of
 * with the list. */
#ifndef FS_HANDLES_H
#define FS_HANDLES_H

#include "fs/nodes.h"
#include "fs/words.h"

#include <stdatomic.h>

struct handle {
	struct node *node;
	struct view *view;   /* NULL for a stage */
	bool writes;	     /* opened for writing */
	struct words *words; /* of a writer of .undo; else NULL */
	/* Of a writer of a stage: 0 it was closed since it wrote, HANDLE_BUSY it was not, else the
	 * lock owner of the process whose close ends it. */
	atomic_uint_fast64_t busy;
	/* Of the list, which protects them. */
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
