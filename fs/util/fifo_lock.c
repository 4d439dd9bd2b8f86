/* SPDX-License-Identifier: MIT */
/* fifo_lock.c - see fifo_lock.h. */
#include "fs/util/fifo_lock.h"
#include "fs/util/cond_poll.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

struct waiter {
	struct waiter *next;
};

struct fifo_lock {
	pthread_mutex_t lock; /* protects the members below */
	pthread_cond_t moved;
	struct waiter *first;
	bool taken;
};

struct fifo_lock *fifo_lock_new(void)
{
	struct fifo_lock *fifo_lock = calloc(1, sizeof(*fifo_lock));

	if (!fifo_lock)
		return NULL;
	pthread_mutex_init(&fifo_lock->lock, NULL);
	cond_poll_init(&fifo_lock->moved);
	return fifo_lock;
}

void fifo_lock_free(struct fifo_lock *fifo_lock)
{
	if (!fifo_lock)
		return;
	pthread_cond_destroy(&fifo_lock->moved);
	pthread_mutex_destroy(&fifo_lock->lock);
	free(fifo_lock);
}

static struct waiter **find(struct fifo_lock *fifo_lock, const struct waiter *waiter)
{
	struct waiter **at = &fifo_lock->first;

	while (*at != waiter)
		at = &(*at)->next;
	return at;
}

int fifo_lock_acquire(struct fifo_lock *fifo_lock, const atomic_bool *cancel)
{
	struct waiter self = { .next = NULL };
	bool cancelled = false;

	pthread_mutex_lock(&fifo_lock->lock);
	*find(fifo_lock, NULL) = &self;
	while (!cancelled && (fifo_lock->taken || fifo_lock->first != &self)) {
		cond_poll_wait(&fifo_lock->moved, &fifo_lock->lock);
		cancelled = cancel && atomic_load(cancel);
	}
	*find(fifo_lock, &self) = self.next;
	if (!cancelled)
		fifo_lock->taken = true;
	pthread_cond_broadcast(&fifo_lock->moved);
	pthread_mutex_unlock(&fifo_lock->lock);
	return cancelled ? -EINTR : 0;
}

void fifo_lock_release(struct fifo_lock *fifo_lock)
{
	pthread_mutex_lock(&fifo_lock->lock);
	fifo_lock->taken = false;
	pthread_cond_broadcast(&fifo_lock->moved);
	pthread_mutex_unlock(&fifo_lock->lock);
}
