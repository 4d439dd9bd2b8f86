/* SPDX-License-Identifier: MIT */
/* scratches.h - names in directories that are no slots: what programs make beside the files
 * they are about to replace, organs that are written under a new name, and θ files that somebody
 * removed. They are private to the mount and gone with it. */
#ifndef FS_SCRATCHES_H
#define FS_SCRATCHES_H

#include "fs/tree/inodes.h"

#include <limits.h>

struct scratches; /* any thread may use it */

/* nodes is borrowed. NULL: out of memory. */
struct scratches *scratches_new(struct nodes *nodes);
void scratches_free(struct scratches *scratches);

enum scratch_kind {
	SCRATCH_NONE,
	SCRATCH_FILE,	/* a file of that name: a node of NODE_SCRATCH or NODE_SCRATCH_LINK */
	SCRATCH_HIDDEN, /* the θ file of that name was removed */
};

/* What that name in a directory, which is given by its inode number, is. For SCRATCH_FILE, *node
 * is set, to release with nodes_put(). */
enum scratch_kind scratches_find(struct scratches *scratches, uint64_t directory, const char *name,
				 struct node **node);

/* Enter a name for a node, of which the entry keeps a reference and whose stage it keeps open; NULL
 * hides the name. Returns 0, -EEXIST, -ENOMEM. */
int scratches_add(struct scratches *scratches, uint64_t directory, const char *name,
		  struct node *node);

/* The name is not there any more. False: it was not. */
bool scratches_remove(struct scratches *scratches, uint64_t directory, const char *name);

/* No name in the directory is hidden any more. */
void scratches_show(struct scratches *scratches, uint64_t directory);

/* Give a name to another. What was there under the other one is gone. -ENOENT, -ENOMEM. */
int scratches_rename(struct scratches *scratches, uint64_t directory, const char *name,
		     uint64_t new_directory, const char *new_name);

/* The name that a node has now. False: none any more. */
bool scratches_name(struct scratches *scratches, const struct node *node, uint64_t *directory,
		    char name[NAME_MAX + 1]);

/* The first file in the directory whose number is at least *number, which is set to it. */
bool scratches_next(struct scratches *scratches, uint64_t directory, uint64_t *number,
		    char name[NAME_MAX + 1], uint64_t *ino);

#endif
