/* SPDX-License-Identifier: MIT */
/* write_opens.c - see write_opens.h. A list of the threads between the two steps of an open(). */
#include "fs/tree/write_opens.h"
#include "fs/util/clock.h"

#include <pthread.h>
#include <stdlib.h>

/* A thread that has not come back after PATIENCE milliseconds was killed in between. A pause
 * between two calls counts as LONGEST_PAUSE at most, so that a daemon that was stopped and
 * continued still expects the second steps of that time. */
#define PATIENCE      10000
#define LONGEST_PAUSE 1000

struct write_open {
	struct write_open *next;
	pid_t thread;
	uint64_t slot;
	uint64_t ino;
	int64_t since; /* in units of passed */
};

struct write_opens {
	pthread_mutex_t lock; /* protects the fields below */
	struct write_open *first;
	int64_t last;	/* last call, in milliseconds of CLOCK_MONOTONIC */
	int64_t passed; /* milliseconds, with no pause longer than LONGEST_PAUSE */
};

/* Current time in units of passed, with the lock held. */
static int64_t now(struct write_opens *writers)
{
	const int64_t ms = clock_ms(), pause = ms - writers->last;

	writers->last = ms;
	writers->passed += pause < LONGEST_PAUSE ? pause : LONGEST_PAUSE;
	return writers->passed;
}

struct write_opens *write_opens_new(void)
{
	struct write_opens *writers = calloc(1, sizeof(*writers));

	if (writers)
		pthread_mutex_init(&writers->lock, NULL);
	return writers;
}

void write_opens_free(struct write_opens *writers)
{
	if (!writers)
		return;
	while (writers->first) {
		struct write_open *next = writers->first->next;

		free(writers->first);
		writers->first = next;
	}
	pthread_mutex_destroy(&writers->lock);
	free(writers);
}

/* Find an entry, with the lock held. Drops entries that have timed out. */
static struct write_open **find(struct write_opens *writers, pid_t thread, uint64_t slot)
{
	struct write_open **link = &writers->first, **found = NULL;
	const int64_t time = now(writers);

	while (*link) {
		struct write_open *writer = *link;

		if (time - writer->since > PATIENCE) {
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

static void drop(struct write_open **link)
{
	struct write_open *writer = *link;

	*link = writer->next;
	free(writer);
}

enum write_opens_answer write_opens_expect(struct write_opens *writers, pid_t thread, uint64_t slot)
{
	enum write_opens_answer answer = WRITE_OPENS_STALE;
	struct write_open **link, *writer;

	pthread_mutex_lock(&writers->lock);
	link = find(writers, thread, slot);
	/* A thread that has looked its name up and not opened it began another open(). */
	if (link && (*link)->ino == 0)
		answer = WRITE_OPENS_NAMELESS;
	if (link)
		drop(link);
	if (answer == WRITE_OPENS_STALE) {
		writer = malloc(sizeof(*writer));
		if (writer) {
			*writer = (struct write_open){ writers->first, thread, slot, 0,
						       writers->passed };
			writers->first = writer;
		} else {
			answer = WRITE_OPENS_NO_MEMORY;
		}
	}
	pthread_mutex_unlock(&writers->lock);
	return answer;
}

bool write_opens_find(struct write_opens *writers, pid_t thread, uint64_t slot, uint64_t *ino)
{
	struct write_open **link = NULL;

	pthread_mutex_lock(&writers->lock);
	if (writers->first)
		link = find(writers, thread, slot);
	if (link)
		*ino = (*link)->ino;
	pthread_mutex_unlock(&writers->lock);
	return link != NULL;
}

void write_opens_set_inode(struct write_opens *writers, pid_t thread, uint64_t slot, uint64_t ino)
{
	struct write_open **link;

	pthread_mutex_lock(&writers->lock);
	link = find(writers, thread, slot);
	if (link)
		(*link)->ino = ino;
	pthread_mutex_unlock(&writers->lock);
}

void write_opens_done(struct write_opens *writers, pid_t thread, uint64_t ino)
{
	struct write_open **link;

	pthread_mutex_lock(&writers->lock);
	link = &writers->first;
	while (*link && !((*link)->thread == thread && (*link)->ino == ino))
		link = &(*link)->next;
	if (*link)
		drop(link);
	pthread_mutex_unlock(&writers->lock);
}
