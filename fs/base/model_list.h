/* SPDX-License-Identifier: MIT */
/* model_list.h - the models that stores hold. */
#ifndef FS_BASE_MODEL_LIST_H
#define FS_BASE_MODEL_LIST_H

#include <stddef.h>
#include <stdint.h>

struct error;

struct model_listed {
	char *name;    /* as model_name_find() takes it */
	char *path;    /* NULL: it is damaged */
	uint64_t size; /* bytes, of a split model those of all shards that are there */
	char *why;     /* NULL: it is not damaged */
	size_t order;  /* in which it was added */
};

struct model_list {
	const char *prefix; /* of the store that is being listed */
	struct model_listed *all;
	size_t n, room;
};

/* Add a model of the store that is being listed, or with err a damaged one. Returns 0 or
 * -ENOMEM. */
int model_list_add(struct model_list *list, const char *name, const char *path, uint64_t size,
		   const struct error *err);

/* Sort by name, and keep the first added one of several models with one name. */
void model_list_sort(struct model_list *list);

void model_list_release(struct model_list *list);

#endif
