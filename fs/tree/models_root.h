/* SPDX-License-Identifier: MIT */
/* overview.h - the root of a mount with several models: their directories, and the files that are
 * made from all of them. */
#ifndef FS_OVERVIEW_H
#define FS_OVERVIEW_H

#include "fs/tree/model_files.h"

#include <limits.h>

struct overview; /* any thread may use it */

/* Of n models; all are borrowed. NULL: out of memory. */
struct overview *overview_new(struct mounted *mounted, uint32_t n, struct nodes *nodes,
			      struct log *log);
void overview_free(struct overview *overview); /* NULL is fine */

/* The model whose directory has that name. NULL: there is none. */
struct model *overview_model(struct overview *overview, const char *name);

/* The file of that name as it is now, as generated_node(). */
struct node *overview_node(struct overview *overview, const char *name, int *rc);

/* Name and inode number of file number i. False: there are not so many. */
bool overview_file(struct overview *overview, uint64_t i, char name[NAME_MAX + 1], uint64_t *ino);

#endif
