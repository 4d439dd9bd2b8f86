/* SPDX-License-Identifier: MIT */
/* read_threads.c - see read_threads.h. */
#include "fs/storage/read_threads.h"
#include "fs/util/pool.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* number of filesystems with a pool of their own; others share the last pool */
#define DEVICES_MAX 16

struct read_threads {
	unsigned most;
	atomic_uint inside; /* threads of the session within a read */
	atomic_bool alone;
	struct pool *answering;
	pthread_mutex_t lock; /* protects the members below */
	unsigned n;
	struct device_pool {
		dev_t device;
		struct pool *pool;
	} devices[DEVICES_MAX];
};

struct read_threads *read_threads_new(unsigned threads)
{
	struct read_threads *read_threads = calloc(1, sizeof(*read_threads));

	if (!read_threads)
		return NULL;
	read_threads->most = threads > 2 ? threads - 2 : 0;
	pthread_mutex_init(&read_threads->lock, NULL);
	read_threads->answering = pool_new(1);
	if (read_threads->answering)
		return read_threads;
	read_threads_free(read_threads);
	return NULL;
}

void read_threads_drain(struct read_threads *read_threads)
{
	if (!read_threads)
		return;
	for (unsigned i = 0; i < read_threads->n; i++)
		pool_free(read_threads->devices[i].pool);
	read_threads->n = 0;
	pool_free(read_threads->answering);
	read_threads->answering = NULL;
}

void read_threads_free(struct read_threads *read_threads)
{
	if (!read_threads)
		return;
	read_threads_drain(read_threads);
	pthread_mutex_destroy(&read_threads->lock);
	free(read_threads);
}

bool read_threads_try_enter(struct read_threads *read_threads)
{
	if (atomic_load(&read_threads->alone))
		return false;
	if (atomic_fetch_add(&read_threads->inside, 1) < read_threads->most)
		return true;
	atomic_fetch_sub(&read_threads->inside, 1);
	return false;
}

void read_threads_leave(struct read_threads *read_threads)
{
	atomic_fetch_sub(&read_threads->inside, 1);
}

void read_threads_set_alone(struct read_threads *read_threads, bool alone)
{
	atomic_store(&read_threads->alone, alone);
}

struct pool *read_threads_for_device(struct read_threads *read_threads, dev_t device)
{
	struct pool *pool = NULL;
	unsigned i = 0;

	pthread_mutex_lock(&read_threads->lock);
	while (i < read_threads->n && read_threads->devices[i].device != device)
		i++;
	if (i == read_threads->n && i < DEVICES_MAX) {
		read_threads->devices[i] =
			(struct device_pool){ device, pool_new(READ_THREADS_MAX) };
		read_threads->n += read_threads->devices[i].pool != NULL;
	}
	if (read_threads->n)
		pool = read_threads->devices[i < read_threads->n ? i : read_threads->n - 1].pool;
	pthread_mutex_unlock(&read_threads->lock);
	return pool;
}

struct pool *read_threads_interrupt_pool(struct read_threads *read_threads)
{
	return read_threads->answering;
}
