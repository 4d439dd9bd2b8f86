/* SPDX-License-Identifier: MIT */
/* recipe_lineage.h - lineage of an assembled model: its recipe, without fields that hold on this
 * machine alone. */
#ifndef FS_RECIPE_RECIPE_LINEAGE_H
#define FS_RECIPE_RECIPE_LINEAGE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

/* Any thread may use it. */
struct recipe_lineage {
	struct model *model; /* borrowed, like ancestry */
	struct recipe_ancestry *ancestry;
	pthread_mutex_t lock; /* protects the fields below; held while a text is made */
	uint64_t generation;  /* of the text, which is made once per generation */
	char *text;
	size_t size;
};

void recipe_lineage_init(struct recipe_lineage *lineage, struct model *model,
			 struct recipe_ancestry *ancestry);
void recipe_lineage_release(struct recipe_lineage *lineage);

/* Embed the lineage in the model's views from now on. Call before the first request. */
void recipe_lineage_show(struct recipe_lineage *lineage);

#endif
