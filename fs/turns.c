/* SPDX-License-Identifier: MIT */
/* turns.c - see turns.h. */
#include "fs/turns.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

/* Nobody wakes us when cancel becomes true. */
#define LOOK_EVERY_NS 50000000

struct waiter {
	struct waiter *next;
};

struct turns {
	pthread_mutex_t lock; /* protects what follows */
	pthread_cond_t moved;
	struct waiter *first;
	bool taken;
};

struct turns *turns_new(void)
{
	struct turns *turns = calloc(1, sizeof(*turns));
	pthread_condattr_t attributes;

	if (!turns)
		return NULL;
	pthread_mutex_init(&turns->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&turns->moved, &attributes);
	pthread_condattr_destroy(&attributes);
	return turns;
}

void turns_free(struct turns *turns)
{
	if (!turns)
		return;
	pthread_cond_destroy(&turns->moved);
	pthread_mutex_destroy(&turns->lock);
	free(turns);
}

/* With the lock held. */
static void wait_a_moment(struct turns *turns)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += LOOK_EVERY_NS;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	pthread_cond_timedwait(&turns->moved, &turns->lock, &until);
}

static struct waiter **find(struct turns *turns, const struct waiter *waiter)
{
	struct waiter **at = &turns->first;

	while (*at != waiter)
		at = &(*at)->next;
	return at;
}

int turns_take(struct turns *turns, const atomic_bool *cancel)
{
	struct waiter self = { .next = NULL };
	bool cancelled = false;

	pthread_mutex_lock(&turns->lock);
	*find(turns, NULL) = &self;
	while (!cancelled && (turns->taken || turns->first != &self)) {
		wait_a_moment(turns);
		cancelled = cancel && atomic_load(cancel);
	}
	*find(turns, &self) = self.next;
	if (!cancelled)
		turns->taken = true;
	pthread_cond_broadcast(&turns->moved);
	pthread_mutex_unlock(&turns->lock);
	return cancelled ? -EINTR : 0;
}

void turns_give(struct turns *turns)
{
	pthread_mutex_lock(&turns->lock);
	turns->taken = false;
	pthread_cond_broadcast(&turns->moved);
	pthread_mutex_unlock(&turns->lock);
}
