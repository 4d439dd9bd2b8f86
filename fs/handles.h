/* SPDX-License-Identifier: MIT */
/* handles.h - open files. A handle holds what it read when it was opened: a graft made since does
 * not reach it. When a signal ends the mount, files are still open; what they hold is let go of
 * with the list. */
#ifndef FS_HANDLES_H
#define FS_HANDLES_H

#include "fs/nodes.h"

struct handle {
	struct node *node;
	struct view *view; /* NULL for a stage */
	/* Of the list, which protects them. */
	struct handle *next, **link;
};

struct handles; /* any thread may use it */

/* nodes is borrowed. NULL: out of memory. */
struct handles *handles_new(struct nodes *nodes);
void handles_free(struct handles *handles); /* with every handle that is still open */

/* A handle of a node that shows view; both become the handle's, unless there is no memory: NULL. */
struct handle *handles_open(struct handles *handles, struct node *node, struct view *view);
void handles_close(struct handles *handles, struct handle *handle);

#endif
