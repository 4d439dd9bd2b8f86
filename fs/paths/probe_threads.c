/* SPDX-License-Identifier: MIT */
/* probe_threads.c - see probe_threads.h. */
#include "fs/paths/probe_threads.h"
#include "fs/util/cond_poll.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* A visit that takes longer than this many seconds hangs. */
#define LONG 2

struct probe_thread {
	struct probe_thread *next;
	time_t since;
	char place[];
};

struct probe_threads {
	atomic_uint refs;
	pthread_mutex_t lock; /* protects first */
	pthread_cond_t ended;
	struct probe_thread *first;
};

struct probe_threads *probe_threads_new(void)
{
	struct probe_threads *probes = calloc(1, sizeof(*probes));

	if (!probes)
		return NULL;
	atomic_init(&probes->refs, 1);
	pthread_mutex_init(&probes->lock, NULL);
	cond_poll_init(&probes->ended);
	return probes;
}

struct probe_threads *probe_threads_ref(struct probe_threads *probes)
{
	atomic_fetch_add(&probes->refs, 1);
	return probes;
}

void probe_threads_unref(struct probe_threads *probes)
{
	if (!probes || atomic_fetch_sub(&probes->refs, 1) != 1)
		return;
	pthread_cond_destroy(&probes->ended);
	pthread_mutex_destroy(&probes->lock);
	free(probes);
}

static time_t seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/* The link to the visit of that place, or to NULL at the end. Call with the lock held. */
static struct probe_thread **find(struct probe_threads *probes, const char *place)
{
	struct probe_thread **link = &probes->first;

	while (*link && strcmp((*link)->place, place) != 0)
		link = &(*link)->next;
	return link;
}

bool probe_threads_begin(struct probe_threads *probes, const char *place,
			 const struct timespec *until)
{
	struct probe_thread *visit = malloc(sizeof(*visit) + strlen(place) + 1), *other;
	int rc = 0;

	if (!visit)
		return false;
	strcpy(visit->place, place);
	pthread_mutex_lock(&probes->lock);
	while ((other = *find(probes, place)) && rc == 0 && seconds() - other->since <= LONG)
		rc = pthread_cond_timedwait(&probes->ended, &probes->lock, until);
	if (!other) {
		visit->since = seconds();
		visit->next = probes->first;
		probes->first = visit;
	}
	pthread_mutex_unlock(&probes->lock);
	if (other)
		free(visit);
	return !other;
}

void probe_threads_end(struct probe_threads *probes, const char *place)
{
	struct probe_thread **link, *visit;

	pthread_mutex_lock(&probes->lock);
	link = find(probes, place);
	visit = *link;
	*link = visit->next;
	pthread_cond_broadcast(&probes->ended);
	pthread_mutex_unlock(&probes->lock);
	free(visit);
}
