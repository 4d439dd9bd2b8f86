/* SPDX-License-Identifier: MIT */
/* witness.h - a model in a mount, as its files tell: .table, .grafts, .check. Any program could
 * read them; nothing in them is trusted. */
#ifndef FS_WITNESS_H
#define FS_WITNESS_H

#include "fs/report/table_merge.h"

struct witness {
	struct table table;
	struct merge *merge;
	struct figures *figures; /* with their z, and what was made of them */
	char *grafts, *check;	 /* those files */
};

/* Is there such a model in that directory? */
bool witness_is(const char *directory);

/* Read it; the mount measures what is not measured yet. What is wrong is said in a line on stderr.
 * Returns 0 or -1; witness_release() is due either way. */
int witness_read(struct witness *witness, const char *directory);
void witness_release(struct witness *witness);

/* Forget all tensors but those of a class. */
void witness_limit(struct witness *witness, enum organ_class klass);

#endif
