/* SPDX-License-Identifier: MIT */
/* scratches.c - see scratches.h. A list: there are as many as programs have files half written. */
#include "fs/tree/scratch_files.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct scratch {
	struct scratch *next;
	uint64_t directory;
	char *name;
	struct node *node; /* NULL: the name is hidden */
	uint64_t number;   /* place in the directory; never used again */
};

struct scratches {
	struct nodes *nodes;
	pthread_mutex_t lock; /* protects what follows */
	struct scratch *first;
	uint64_t next_number;
};

struct scratches *scratches_new(struct nodes *nodes)
{
	struct scratches *scratches = calloc(1, sizeof(*scratches));

	if (!scratches)
		return NULL;
	scratches->nodes = nodes;
	pthread_mutex_init(&scratches->lock, NULL);
	return scratches;
}

/* Out of the list already, and without the lock: the stage may wait for the disk. */
static void release(struct scratches *scratches, struct scratch *scratch)
{
	if (!scratch)
		return;
	if (scratch->node && scratch->node->stage)
		stage_close(scratch->node->stage);
	nodes_put(scratches->nodes, scratch->node);
	free(scratch->name);
	free(scratch);
}

void scratches_free(struct scratches *scratches)
{
	if (!scratches)
		return;
	while (scratches->first) {
		struct scratch *scratch = scratches->first;

		scratches->first = scratch->next;
		release(scratches, scratch);
	}
	pthread_mutex_destroy(&scratches->lock);
	free(scratches);
}

/* With the lock held. */
static struct scratch **find(struct scratches *scratches, uint64_t directory, const char *name)
{
	struct scratch **link = &scratches->first;

	while (*link && ((*link)->directory != directory || strcmp((*link)->name, name) != 0))
		link = &(*link)->next;
	return link;
}

enum scratch_kind scratches_find(struct scratches *scratches, uint64_t directory, const char *name,
				 struct node **node)
{
	enum scratch_kind kind = SCRATCH_NONE;
	const struct scratch *scratch;

	pthread_mutex_lock(&scratches->lock);
	scratch = *find(scratches, directory, name);
	if (scratch && scratch->node) {
		kind = SCRATCH_FILE;
		*node = nodes_get(scratches->nodes, scratch->node->ino);
	} else if (scratch) {
		kind = SCRATCH_HIDDEN;
	}
	pthread_mutex_unlock(&scratches->lock);
	return kind;
}

int scratches_add(struct scratches *scratches, uint64_t directory, const char *name,
		  struct node *node)
{
	struct scratch *scratch = calloc(1, sizeof(*scratch));
	int rc = 0;

	if (scratch)
		scratch->name = strdup(name);
	if (!scratch || !scratch->name) {
		free(scratch);
		return -ENOMEM;
	}
	scratch->directory = directory;
	pthread_mutex_lock(&scratches->lock);
	if (*find(scratches, directory, name)) {
		rc = -EEXIST;
	} else {
		if (node) {
			scratch->node = nodes_get(scratches->nodes, node->ino);
			if (node->stage)
				stage_open(node->stage);
		}
		scratch->number = scratches->next_number++;
		*find(scratches, directory, name) = scratch;
	}
	pthread_mutex_unlock(&scratches->lock);
	if (rc < 0) {
		free(scratch->name);
		free(scratch);
	}
	return rc;
}

static struct scratch *take(struct scratches *scratches, uint64_t directory, const char *name)
{
	struct scratch **link = find(scratches, directory, name), *scratch = *link;

	if (scratch)
		*link = scratch->next;
	return scratch;
}

bool scratches_remove(struct scratches *scratches, uint64_t directory, const char *name)
{
	struct scratch *scratch;

	pthread_mutex_lock(&scratches->lock);
	scratch = take(scratches, directory, name);
	pthread_mutex_unlock(&scratches->lock);
	release(scratches, scratch);
	return scratch != NULL;
}

void scratches_show(struct scratches *scratches, uint64_t directory)
{
	struct scratch **link = &scratches->first, *scratch;

	pthread_mutex_lock(&scratches->lock);
	while ((scratch = *link)) {
		if (scratch->directory == directory && !scratch->node) {
			*link = scratch->next;
			release(scratches, scratch);
		} else {
			link = &scratch->next;
		}
	}
	pthread_mutex_unlock(&scratches->lock);
}

int scratches_rename(struct scratches *scratches, uint64_t directory, const char *name,
		     uint64_t new_directory, const char *new_name)
{
	char *copy = strdup(new_name);
	struct scratch *scratch, *other = NULL;

	if (!copy)
		return -ENOMEM;
	pthread_mutex_lock(&scratches->lock);
	scratch = *find(scratches, directory, name);
	if (scratch && scratch != *find(scratches, new_directory, new_name))
		other = take(scratches, new_directory, new_name);
	if (scratch) {
		free(scratch->name);
		scratch->name = copy;
		scratch->directory = new_directory;
	}
	pthread_mutex_unlock(&scratches->lock);
	if (!scratch)
		free(copy);
	release(scratches, other);
	return scratch ? 0 : -ENOENT;
}

bool scratches_name(struct scratches *scratches, const struct node *node, uint64_t *directory,
		    char name[NAME_MAX + 1])
{
	const struct scratch *scratch;

	pthread_mutex_lock(&scratches->lock);
	scratch = scratches->first;
	while (scratch && (!scratch->node || scratch->node->ino != node->ino))
		scratch = scratch->next;
	if (scratch) {
		*directory = scratch->directory;
		strcpy(name, scratch->name);
	}
	pthread_mutex_unlock(&scratches->lock);
	return scratch != NULL;
}

bool scratches_next(struct scratches *scratches, uint64_t directory, uint64_t *number,
		    char name[NAME_MAX + 1], uint64_t *ino)
{
	const struct scratch *best = NULL;

	pthread_mutex_lock(&scratches->lock);
	for (const struct scratch *s = scratches->first; s; s = s->next)
		if (s->node && s->directory == directory && s->number >= *number &&
		    (!best || s->number < best->number))
			best = s;
	if (best) {
		*number = best->number;
		*ino = best->node->ino;
		strcpy(name, best->name);
	}
	pthread_mutex_unlock(&scratches->lock);
	return best != NULL;
}
