/* SPDX-License-Identifier: MIT */
/* slots.c - see slots.h. */
#include "fs/slots.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

struct slots {
	pthread_mutex_t lock; /* protects what follows */
	uint64_t generation;
	uint32_t n, grafts;
	struct content *now[];
};

struct content *content_new(uint64_t ino, const struct organ *organ, struct backing *file)
{
	struct content *content = calloc(1, sizeof(*content));

	if (!content) {
		free((char *)organ->name);
		backing_unref(file);
		return NULL;
	}
	atomic_init(&content->refs, 1);
	content->ino = ino;
	content->organ = *organ;
	content->file = file;
	content->mtime = backing_stat(file)->st_mtim;
	return content;
}

struct content *content_ref(struct content *content)
{
	atomic_fetch_add(&content->refs, 1);
	return content;
}

void content_unref(struct content *content)
{
	if (!content || atomic_fetch_sub(&content->refs, 1) != 1)
		return;
	free((char *)content->organ.name);
	backing_unref(content->file);
	free(content);
}

struct slots *slots_new(uint32_t n)
{
	struct slots *slots = calloc(1, sizeof(*slots) + n * sizeof(slots->now[0]));

	if (!slots)
		return NULL;
	pthread_mutex_init(&slots->lock, NULL);
	slots->n = n;
	return slots;
}

void slots_free(struct slots *slots)
{
	if (!slots)
		return;
	for (uint32_t i = 0; i < slots->n; i++)
		content_unref(slots->now[i]);
	pthread_mutex_destroy(&slots->lock);
	free(slots);
}

struct content *slots_get(struct slots *slots, uint32_t i)
{
	struct content *content;

	pthread_mutex_lock(&slots->lock);
	content = slots->now[i];
	if (content)
		content_ref(content);
	pthread_mutex_unlock(&slots->lock);
	return content;
}

void slots_put(struct slots *slots, uint32_t i, struct content *content)
{
	struct content *before;

	pthread_mutex_lock(&slots->lock);
	before = slots->now[i];
	slots->now[i] = content;
	slots->grafts += (content != NULL);
	slots->grafts -= (before != NULL);
	slots->generation++;
	pthread_mutex_unlock(&slots->lock);
	content_unref(before);
}

uint64_t slots_generation(struct slots *slots)
{
	uint64_t generation;

	pthread_mutex_lock(&slots->lock);
	generation = slots->generation;
	pthread_mutex_unlock(&slots->lock);
	return generation;
}

int slots_snapshot(struct slots *slots, struct snapshot *snapshot)
{
	snapshot->n = slots->n;
	snapshot->content = calloc(slots->n + 1u, sizeof(*snapshot->content));
	if (!snapshot->content)
		return -ENOMEM;
	pthread_mutex_lock(&slots->lock);
	snapshot->generation = slots->generation;
	snapshot->grafts = slots->grafts;
	for (uint32_t i = 0; slots->grafts && i < slots->n; i++)
		if (slots->now[i])
			snapshot->content[i] = content_ref(slots->now[i]);
	pthread_mutex_unlock(&slots->lock);
	return 0;
}

void snapshot_release(struct snapshot *snapshot)
{
	for (uint32_t i = 0; snapshot->grafts && i < snapshot->n; i++)
		content_unref(snapshot->content[i]);
	free(snapshot->content);
	snapshot->content = NULL;
}
