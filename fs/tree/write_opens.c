/* SPDX-License-Identifier: MIT */
/* writers.c - see writers.h. A list: it holds those who are between two steps of one open(). */
#include "fs/tree/write_opens.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

/* Whoever has not come back after so many seconds was killed in between. */
#define PATIENCE 10

struct writer {
	struct writer *next;
	pid_t thread;
	uint64_t slot;
	uint64_t ino;
	time_t since;
};

struct writers {
	pthread_mutex_t lock; /* protects first */
	struct writer *first;
};

static time_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec;
}

struct writers *writers_new(void)
{
	struct writers *writers = calloc(1, sizeof(*writers));

	if (writers)
		pthread_mutex_init(&writers->lock, NULL);
	return writers;
}

void writers_free(struct writers *writers)
{
	if (!writers)
		return;
	while (writers->first) {
		struct writer *next = writers->first->next;

		free(writers->first);
		writers->first = next;
	}
	pthread_mutex_destroy(&writers->lock);
	free(writers);
}

/* With the lock held. Drops those who will not come. */
static struct writer **find(struct writers *writers, pid_t thread, uint64_t slot)
{
	struct writer **link = &writers->first, **found = NULL;

	while (*link) {
		struct writer *writer = *link;

		if (now() - writer->since > PATIENCE) {
			*link = writer->next;
			free(writer);
			continue;
		}
		if (writer->thread == thread && writer->slot == slot)
			found = link;
		link = &writer->next;
	}
	return found;
}

static void drop(struct writer **link)
{
	struct writer *writer = *link;

	*link = writer->next;
	free(writer);
}

enum writers_answer writers_expect(struct writers *writers, pid_t thread, uint64_t slot)
{
	enum writers_answer answer = WRITERS_STALE;
	struct writer **link, *writer;

	pthread_mutex_lock(&writers->lock);
	link = find(writers, thread, slot);
	/* One that has looked its name up and did not come is another open(). */
	if (link && (*link)->ino == 0)
		answer = WRITERS_NAMELESS;
	if (link)
		drop(link);
	if (answer == WRITERS_STALE) {
		writer = malloc(sizeof(*writer));
		if (writer) {
			*writer = (struct writer){ writers->first, thread, slot, 0, now() };
			writers->first = writer;
		} else {
			answer = WRITERS_NO_MEMORY;
		}
	}
	pthread_mutex_unlock(&writers->lock);
	return answer;
}

bool writers_find(struct writers *writers, pid_t thread, uint64_t slot, uint64_t *ino)
{
	struct writer **link = NULL;

	pthread_mutex_lock(&writers->lock);
	if (writers->first)
		link = find(writers, thread, slot);
	if (link)
		*ino = (*link)->ino;
	pthread_mutex_unlock(&writers->lock);
	return link != NULL;
}

void writers_made(struct writers *writers, pid_t thread, uint64_t slot, uint64_t ino)
{
	struct writer **link;

	pthread_mutex_lock(&writers->lock);
	link = find(writers, thread, slot);
	if (link)
		(*link)->ino = ino;
	pthread_mutex_unlock(&writers->lock);
}

void writers_arrived(struct writers *writers, pid_t thread, uint64_t slot)
{
	struct writer **link;

	pthread_mutex_lock(&writers->lock);
	link = find(writers, thread, slot);
	if (link)
		drop(link);
	pthread_mutex_unlock(&writers->lock);
}
