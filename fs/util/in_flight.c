/* SPDX-License-Identifier: MIT */
/* pending.c - see pending.h. */
#include "fs/util/in_flight.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

struct pending {
	atomic_uint any;      /* begun + expected; changed with the lock held */
	pthread_mutex_t lock; /* protects what follows */
	unsigned begun, expected;
	struct timespec until; /* so long a release is waited for, of CLOCK_MONOTONIC */
	pthread_cond_t changed;
};

struct pending *pending_new(void)
{
	struct pending *pending = calloc(1, sizeof(*pending));
	pthread_condattr_t attributes;

	if (!pending)
		return NULL;
	atomic_init(&pending->any, 0);
	pthread_mutex_init(&pending->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&pending->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	return pending;
}

void pending_free(struct pending *pending)
{
	if (!pending)
		return;
	pthread_cond_destroy(&pending->changed);
	pthread_mutex_destroy(&pending->lock);
	free(pending);
}

static void change(struct pending *pending, int begun, int expected)
{
	pthread_mutex_lock(&pending->lock);
	pending->begun += (unsigned)begun;
	pending->expected += (unsigned)expected;
	atomic_store(&pending->any, pending->begun + pending->expected);
	if (expected > 0) {
		clock_gettime(CLOCK_MONOTONIC, &pending->until);
		pending->until.tv_sec += PENDING_PATIENCE;
	}
	pthread_cond_broadcast(&pending->changed);
	pthread_mutex_unlock(&pending->lock);
}

void pending_expect(struct pending *pending)
{
	change(pending, 0, 1);
}

void pending_unexpect(struct pending *pending)
{
	change(pending, 0, -1);
}

void pending_begin(struct pending *pending)
{
	change(pending, 1, 0);
}

void pending_end(struct pending *pending)
{
	change(pending, -1, 0);
}

/* With the lock held. */
static bool is_expected(const struct pending *pending)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return pending->expected && (now.tv_sec < pending->until.tv_sec ||
				     (now.tv_sec == pending->until.tv_sec &&
				      now.tv_nsec < pending->until.tv_nsec));
}

bool pending_any(struct pending *pending)
{
	bool any;

	if (atomic_load(&pending->any) == 0)
		return false;
	pthread_mutex_lock(&pending->lock);
	any = pending->begun || is_expected(pending);
	pthread_mutex_unlock(&pending->lock);
	return any;
}

void pending_wait(struct pending *pending)
{
	pthread_mutex_lock(&pending->lock);
	while (pending->begun || is_expected(pending)) {
		if (pending->begun)
			pthread_cond_wait(&pending->changed, &pending->lock);
		else
			pthread_cond_timedwait(&pending->changed, &pending->lock, &pending->until);
	}
	pthread_mutex_unlock(&pending->lock);
}
