/* SPDX-License-Identifier: MIT */
/* visits.c - see visits.h. */
#include "fs/paths/probe_threads.h"
#include "fs/util/cond_poll.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Who has been at a place for so many seconds waits for something that hangs. */
#define LONG 2

struct visit {
	struct visit *next;
	time_t since;
	char place[];
};

struct visits {
	atomic_uint refs;
	pthread_mutex_t lock; /* protects first */
	pthread_cond_t ended;
	struct visit *first;
};

struct visits *visits_new(void)
{
	struct visits *visits = calloc(1, sizeof(*visits));

	if (!visits)
		return NULL;
	atomic_init(&visits->refs, 1);
	pthread_mutex_init(&visits->lock, NULL);
	waiting_init(&visits->ended);
	return visits;
}

struct visits *visits_ref(struct visits *visits)
{
	atomic_fetch_add(&visits->refs, 1);
	return visits;
}

void visits_unref(struct visits *visits)
{
	if (!visits || atomic_fetch_sub(&visits->refs, 1) != 1)
		return;
	pthread_cond_destroy(&visits->ended);
	pthread_mutex_destroy(&visits->lock);
	free(visits);
}

static time_t seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/* With the lock held: the link to the visit of that place, which is NULL where there is none. */
static struct visit **find(struct visits *visits, const char *place)
{
	struct visit **link = &visits->first;

	while (*link && strcmp((*link)->place, place) != 0)
		link = &(*link)->next;
	return link;
}

bool visit_begin(struct visits *visits, const char *place, const struct timespec *until)
{
	struct visit *visit = malloc(sizeof(*visit) + strlen(place) + 1), *other;
	int rc = 0;

	if (!visit)
		return false;
	strcpy(visit->place, place);
	pthread_mutex_lock(&visits->lock);
	while ((other = *find(visits, place)) && rc == 0 && seconds() - other->since <= LONG)
		rc = pthread_cond_timedwait(&visits->ended, &visits->lock, until);
	if (!other) {
		visit->since = seconds();
		visit->next = visits->first;
		visits->first = visit;
	}
	pthread_mutex_unlock(&visits->lock);
	if (other)
		free(visit);
	return !other;
}

void visit_end(struct visits *visits, const char *place)
{
	struct visit **link, *visit;

	pthread_mutex_lock(&visits->lock);
	link = find(visits, place);
	visit = *link;
	*link = visit->next;
	pthread_cond_broadcast(&visits->ended);
	pthread_mutex_unlock(&visits->lock);
	free(visit);
}
