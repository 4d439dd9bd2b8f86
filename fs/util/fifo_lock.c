/* SPDX-License-Identifier: MIT */
/* turns.c - see turns.h. */
#include "fs/util/fifo_lock.h"
#include "fs/util/cond_poll.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

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

	if (!turns)
		return NULL;
	pthread_mutex_init(&turns->lock, NULL);
	waiting_init(&turns->moved);
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
		waiting_moment(&turns->moved, &turns->lock);
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
