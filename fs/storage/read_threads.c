/* SPDX-License-Identifier: MIT */
/* readers.c - see readers.h. */
#include "fs/storage/read_threads.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* So many filesystems have threads of their own; all others share those of the last one. */
#define LANES 16

struct readers {
	unsigned most;
	atomic_uint inside; /* threads of the session that are reading */
	atomic_bool alone;
	struct pool *answering;
	pthread_mutex_t lock; /* protects what follows */
	unsigned n;
	struct lane {
		dev_t device;
		struct pool *pool;
	} lanes[LANES];
};

struct readers *readers_new(unsigned threads)
{
	struct readers *readers = calloc(1, sizeof(*readers));

	if (!readers)
		return NULL;
	readers->most = threads > 2 ? threads - 2 : 0;
	atomic_init(&readers->inside, 0);
	atomic_init(&readers->alone, false);
	pthread_mutex_init(&readers->lock, NULL);
	readers->answering = pool_new(1);
	if (readers->answering)
		return readers;
	readers_free(readers);
	return NULL;
}

void readers_settle(struct readers *readers)
{
	if (!readers)
		return;
	for (unsigned i = 0; i < readers->n; i++)
		pool_free(readers->lanes[i].pool);
	readers->n = 0;
	pool_free(readers->answering);
	readers->answering = NULL;
}

void readers_free(struct readers *readers)
{
	if (!readers)
		return;
	readers_settle(readers);
	pthread_mutex_destroy(&readers->lock);
	free(readers);
}

bool readers_enter(struct readers *readers)
{
	if (atomic_load(&readers->alone))
		return false;
	if (atomic_fetch_add(&readers->inside, 1) < readers->most)
		return true;
	atomic_fetch_sub(&readers->inside, 1);
	return false;
}

void readers_leave(struct readers *readers)
{
	atomic_fetch_sub(&readers->inside, 1);
}

void readers_alone(struct readers *readers, bool alone)
{
	atomic_store(&readers->alone, alone);
}

struct pool *readers_of(struct readers *readers, dev_t device)
{
	struct pool *pool = NULL;
	unsigned i = 0;

	pthread_mutex_lock(&readers->lock);
	while (i < readers->n && readers->lanes[i].device != device)
		i++;
	if (i == readers->n && i < LANES) {
		readers->lanes[i] = (struct lane){ device, pool_new(READERS_MOST) };
		readers->n += readers->lanes[i].pool != NULL;
	}
	if (readers->n)
		pool = readers->lanes[i < readers->n ? i : readers->n - 1].pool;
	pthread_mutex_unlock(&readers->lock);
	return pool;
}

struct pool *readers_answering(struct readers *readers)
{
	return readers->answering;
}
