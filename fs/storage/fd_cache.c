/* SPDX-License-Identifier: MIT */
/* descriptors.c - see descriptors.h. Those that are open and that nobody holds are in a ring, in
 * which the one after the head was used last and the one before it is the next to be closed. */
#include "fs/storage/fd_cache.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

struct descriptors {
	atomic_uint refs;
	unsigned most;
	pthread_mutex_t lock; /* protects what follows, and the set's part of each descriptor */
	unsigned open;
	struct descriptor idle;
};

struct descriptors *descriptors_new(unsigned most)
{
	struct descriptors *set = calloc(1, sizeof(*set));

	if (!set)
		return NULL;
	atomic_init(&set->refs, 1);
	set->most = most;
	pthread_mutex_init(&set->lock, NULL);
	set->idle.before = set->idle.after = &set->idle;
	return set;
}

struct descriptors *descriptors_ref(struct descriptors *set)
{
	atomic_fetch_add(&set->refs, 1);
	return set;
}

void descriptors_unref(struct descriptors *set)
{
	if (!set || atomic_fetch_sub(&set->refs, 1) != 1)
		return;
	pthread_mutex_destroy(&set->lock);
	free(set);
}

static void take_out(struct descriptor *descriptor)
{
	if (!descriptor->after)
		return;
	descriptor->before->after = descriptor->after;
	descriptor->after->before = descriptor->before;
	descriptor->before = descriptor->after = NULL;
}

static void put_first(struct descriptors *set, struct descriptor *descriptor)
{
	descriptor->before = &set->idle;
	descriptor->after = set->idle.after;
	descriptor->before->after = descriptor;
	descriptor->after->before = descriptor;
}

static void shut(struct descriptors *set, struct descriptor *descriptor)
{
	take_out(descriptor);
	close(descriptor->fd);
	descriptor->fd = -1;
	set->open--;
}

static void make_room(struct descriptors *set)
{
	while (set->open >= set->most && set->idle.before != &set->idle)
		shut(set, set->idle.before);
}

void descriptors_add(struct descriptors *set, struct descriptor *descriptor)
{
	pthread_mutex_lock(&set->lock);
	make_room(set);
	put_first(set, descriptor);
	set->open++;
	pthread_mutex_unlock(&set->lock);
}

int descriptors_hold(struct descriptors *set, struct descriptor *descriptor)
{
	int fd = -ENOENT;

	pthread_mutex_lock(&set->lock);
	if (!descriptor->over && descriptor->fd < 0) {
		make_room(set);
		fd = descriptor->open(descriptor);
		descriptor->fd = fd < 0 ? -1 : fd;
		set->open += fd >= 0;
	} else if (!descriptor->over) {
		fd = descriptor->fd;
		take_out(descriptor);
	}
	descriptor->holders += fd >= 0;
	pthread_mutex_unlock(&set->lock);
	return fd;
}

void descriptors_let(struct descriptors *set, struct descriptor *descriptor)
{
	pthread_mutex_lock(&set->lock);
	if (--descriptor->holders == 0) {
		put_first(set, descriptor);
		if (descriptor->over)
			shut(set, descriptor);
		else if (set->open > set->most)
			make_room(set);
	}
	pthread_mutex_unlock(&set->lock);
}

void descriptors_end(struct descriptors *set, struct descriptor *descriptor)
{
	pthread_mutex_lock(&set->lock);
	descriptor->over = true;
	if (descriptor->fd >= 0 && descriptor->holders == 0)
		shut(set, descriptor);
	pthread_mutex_unlock(&set->lock);
}
