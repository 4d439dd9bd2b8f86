/* SPDX-License-Identifier: MIT */
/* pending.c - see pending.h. */
#include "fs/pending.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct pending {
	atomic_uint n; /* changed with the lock held */
	pthread_mutex_t lock;
	pthread_cond_t none;
};

struct pending *pending_new(void)
{
	struct pending *pending = calloc(1, sizeof(*pending));

	if (!pending)
		return NULL;
	atomic_init(&pending->n, 0);
	pthread_mutex_init(&pending->lock, NULL);
	pthread_cond_init(&pending->none, NULL);
	return pending;
}

void pending_free(struct pending *pending)
{
	if (!pending)
		return;
	pthread_cond_destroy(&pending->none);
	pthread_mutex_destroy(&pending->lock);
	free(pending);
}

void pending_begin(struct pending *pending)
{
	pthread_mutex_lock(&pending->lock);
	atomic_fetch_add(&pending->n, 1);
	pthread_mutex_unlock(&pending->lock);
}

void pending_end(struct pending *pending)
{
	pthread_mutex_lock(&pending->lock);
	if (atomic_fetch_sub(&pending->n, 1) == 1)
		pthread_cond_broadcast(&pending->none);
	pthread_mutex_unlock(&pending->lock);
}

bool pending_any(struct pending *pending)
{
	return atomic_load(&pending->n) != 0;
}

void pending_wait(struct pending *pending)
{
	pthread_mutex_lock(&pending->lock);
	while (atomic_load(&pending->n) != 0)
		pthread_cond_wait(&pending->none, &pending->lock);
	pthread_mutex_unlock(&pending->lock);
}
