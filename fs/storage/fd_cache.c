/* SPDX-License-Identifier: MIT */
/* fd_cache.c - see fd_cache.h. Files that are open and not held form a ring: the first entry after
 * the head was used last, the entry before the head is closed first. */
#include "fs/storage/fd_cache.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

struct fd_cache {
	atomic_uint refs;
	unsigned most;
	pthread_mutex_t lock; /* protects the members below, and each entry's private members */
	unsigned open;
	struct fd_cache_entry idle;
};

struct fd_cache *fd_cache_new(unsigned most)
{
	struct fd_cache *set = calloc(1, sizeof(*set));

	if (!set)
		return NULL;
	atomic_init(&set->refs, 1);
	set->most = most;
	pthread_mutex_init(&set->lock, NULL);
	set->idle.before = set->idle.after = &set->idle;
	return set;
}

struct fd_cache *fd_cache_ref(struct fd_cache *set)
{
	atomic_fetch_add(&set->refs, 1);
	return set;
}

void fd_cache_unref(struct fd_cache *set)
{
	if (!set || atomic_fetch_sub(&set->refs, 1) != 1)
		return;
	pthread_mutex_destroy(&set->lock);
	free(set);
}

static void take_out(struct fd_cache_entry *descriptor)
{
	if (!descriptor->after)
		return;
	descriptor->before->after = descriptor->after;
	descriptor->after->before = descriptor->before;
	descriptor->before = descriptor->after = NULL;
}

static void put_first(struct fd_cache *set, struct fd_cache_entry *descriptor)
{
	descriptor->before = &set->idle;
	descriptor->after = set->idle.after;
	descriptor->before->after = descriptor;
	descriptor->after->before = descriptor;
}

static void shut(struct fd_cache *set, struct fd_cache_entry *descriptor)
{
	take_out(descriptor);
	close(descriptor->fd);
	descriptor->fd = -1;
	set->open--;
}

static void make_room(struct fd_cache *set)
{
	while (set->open >= set->most && set->idle.before != &set->idle)
		shut(set, set->idle.before);
}

void fd_cache_add(struct fd_cache *set, struct fd_cache_entry *descriptor)
{
	pthread_mutex_lock(&set->lock);
	make_room(set);
	put_first(set, descriptor);
	set->open++;
	pthread_mutex_unlock(&set->lock);
}

int fd_cache_get(struct fd_cache *set, struct fd_cache_entry *descriptor)
{
	int fd = -ENOENT;

	pthread_mutex_lock(&set->lock);
	if (!descriptor->removed && descriptor->fd < 0) {
		make_room(set);
		fd = descriptor->open(descriptor);
		descriptor->fd = fd < 0 ? -1 : fd;
		set->open += fd >= 0;
	} else if (!descriptor->removed) {
		fd = descriptor->fd;
		take_out(descriptor);
	}
	descriptor->holders += fd >= 0;
	pthread_mutex_unlock(&set->lock);
	return fd;
}

int fd_cache_get_open(struct fd_cache *set, struct fd_cache_entry *descriptor)
{
	int fd = -EAGAIN;

	if (pthread_mutex_trylock(&set->lock) != 0)
		return -EAGAIN;
	if (!descriptor->removed && descriptor->fd >= 0) {
		fd = descriptor->fd;
		take_out(descriptor);
		descriptor->holders++;
	}
	pthread_mutex_unlock(&set->lock);
	return fd;
}

void fd_cache_put(struct fd_cache *set, struct fd_cache_entry *descriptor)
{
	pthread_mutex_lock(&set->lock);
	if (--descriptor->holders == 0) {
		put_first(set, descriptor);
		if (descriptor->removed)
			shut(set, descriptor);
		else if (set->open > set->most)
			make_room(set);
	}
	pthread_mutex_unlock(&set->lock);
}

void fd_cache_remove(struct fd_cache *set, struct fd_cache_entry *descriptor)
{
	pthread_mutex_lock(&set->lock);
	descriptor->removed = true;
	if (descriptor->fd >= 0 && descriptor->holders == 0)
		shut(set, descriptor);
	pthread_mutex_unlock(&set->lock);
}
