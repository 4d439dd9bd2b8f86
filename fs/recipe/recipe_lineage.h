/* SPDX-License-Identifier: MIT */
/* recipe_lineage.h - what an assembled model says of how it was made: its recipe, without what
 * holds on this machine alone. */
#ifndef FS_RECIPE_RECIPE_LINEAGE_H
#define FS_RECIPE_RECIPE_LINEAGE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

/* Of a model. Any thread may use it. */
struct recipe_lineage {
	struct model *model; /* borrowed, as is the next */
	struct recipe_ancestry *ancestry;
	pthread_mutex_t lock; /* protects what follows; held while a text is made */
	uint64_t generation;  /* of the text; that is made once for each */
	char *text;
	size_t size;
};

void recipe_lineage_init(struct recipe_lineage *lineage, struct model *model,
			 struct recipe_ancestry *ancestry);
void recipe_lineage_release(struct recipe_lineage *lineage);

/* The model's views say it from now on. Before requests come. */
void recipe_lineage_show(struct recipe_lineage *lineage);

#endif
