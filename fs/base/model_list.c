/* SPDX-License-Identifier: MIT */
/* model_list.c - see model_list.h. */
#include "fs/base/model_list.h"
#include "fs/util/array_grown.h"
#include "gguf/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void release(struct model_listed *listed)
{
	free(listed->name);
	free(listed->path);
	free(listed->why);
}

int model_list_add(struct model_list *list, const char *name, const char *path, uint64_t size,
		   const struct error *err)
{
	struct model_listed *more =
		array_grown(list->all, list->n, &list->room, sizeof(*list->all));
	struct model_listed listed = { .size = size, .order = list->n };

	if (!more)
		return -ENOMEM;
	list->all = more;
	if (asprintf(&listed.name, "%s%s", list->prefix, name) < 0)
		listed.name = NULL;
	if (err)
		listed.why = strdup(err->text);
	else
		listed.path = strdup(path);
	if (!listed.name || (!listed.path && !listed.why)) {
		release(&listed);
		return -ENOMEM;
	}
	more[list->n++] = listed;
	return 0;
}

static int by_name(const void *left, const void *right)
{
	const struct model_listed *a = left, *b = right;
	const int order = strcmp(a->name, b->name);

	return order ? order : (a->order > b->order) - (a->order < b->order);
}

void model_list_sort(struct model_list *list)
{
	size_t kept = 0;

	if (list->n)
		qsort(list->all, list->n, sizeof(*list->all), by_name);
	for (size_t i = 0; i < list->n; i++)
		if (kept && strcmp(list->all[kept - 1].name, list->all[i].name) == 0)
			release(&list->all[i]);
		else
			list->all[kept++] = list->all[i];
	list->n = kept;
}

void model_list_release(struct model_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		release(&list->all[i]);
	free(list->all);
	*list = (struct model_list){ .n = 0 };
}
