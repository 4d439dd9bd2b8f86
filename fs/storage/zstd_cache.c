/* SPDX-License-Identifier: MIT */
/* zstd_cache.c - see zstd_cache.h. */
#include "fs/storage/zstd_cache.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum slot_state { SLOT_EMPTY, SLOT_FILLING, SLOT_FULL };

struct slot {
	enum slot_state state;
	uint64_t owner;
	uint32_t number;
	unsigned readers; /* that copy from it, so that it must stay */
	uint64_t used;	  /* when, by the cache's clock */
	uint8_t *bytes;	  /* ZSTD_FRAME_BYTES; NULL: never used yet */
};

struct zstd_cache {
	atomic_uint refs;
	atomic_uint_fast64_t owners;
	pthread_mutex_t lock; /* protects what follows */
	pthread_cond_t freed; /* a slot is full, or a slot or tools have become free */
	uint64_t clock;
	struct slot slots[ZSTD_CACHE_FRAMES];
	struct zstd_cache_context tools[ZSTD_CACHE_BUSY_MAX];
	bool taken[ZSTD_CACHE_BUSY_MAX];
};

struct zstd_cache *zstd_cache_new(void)
{
	struct zstd_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return NULL;
	atomic_init(&cache->refs, 1);
	pthread_mutex_init(&cache->lock, NULL);
	pthread_cond_init(&cache->freed, NULL);
	return cache;
}

struct zstd_cache *zstd_cache_ref(struct zstd_cache *cache)
{
	atomic_fetch_add(&cache->refs, 1);
	return cache;
}

void zstd_cache_unref(struct zstd_cache *cache)
{
	if (!cache || atomic_fetch_sub(&cache->refs, 1) != 1)
		return;
	for (size_t i = 0; i < ZSTD_CACHE_FRAMES; i++)
		free(cache->slots[i].bytes);
	for (size_t i = 0; i < ZSTD_CACHE_BUSY_MAX; i++) {
		ZSTD_freeDCtx(cache->tools[i].zstd);
		free(cache->tools[i].packed);
	}
	pthread_cond_destroy(&cache->freed);
	pthread_mutex_destroy(&cache->lock);
	free(cache);
}

uint64_t zstd_cache_new_owner(struct zstd_cache *cache)
{
	return atomic_fetch_add(&cache->owners, 1);
}

/* With the lock held, as all that follow up to fill(). */
static struct slot *find(struct zstd_cache *cache, const struct zstd_cache_request *wanted)
{
	for (size_t i = 0; i < ZSTD_CACHE_FRAMES; i++) {
		struct slot *slot = &cache->slots[i];

		if (slot->state != SLOT_EMPTY && slot->owner == wanted->owner &&
		    slot->number == wanted->number)
			return slot;
	}
	return NULL;
}

/* The slot that was used least lately, of those that no reader uses now. */
static struct slot *find_victim(struct zstd_cache *cache)
{
	struct slot *victim = NULL;

	for (size_t i = 0; i < ZSTD_CACHE_FRAMES; i++) {
		struct slot *slot = &cache->slots[i];

		if (slot->state == SLOT_EMPTY)
			return slot;
		if (slot->state == SLOT_FULL && !slot->readers &&
		    (!victim || slot->used < victim->used))
			victim = slot;
	}
	return victim;
}

/* ZSTD_CACHE_BUSY_MAX: none is free. */
static size_t find_tools(const struct zstd_cache *cache)
{
	size_t i = 0;

	while (i < ZSTD_CACHE_BUSY_MAX && cache->taken[i])
		i++;
	return i;
}

static bool make_tools(struct zstd_cache_context *tools, struct slot *slot)
{
	if (!tools->zstd)
		tools->zstd = ZSTD_createDCtx();
	if (!tools->packed) {
		tools->room = ZSTD_compressBound(ZSTD_FRAME_BYTES);
		tools->packed = malloc(tools->room);
	}
	if (!slot->bytes)
		slot->bytes = malloc(ZSTD_FRAME_BYTES);
	return tools->zstd && tools->packed && slot->bytes;
}

/* Make the frame in that slot, with those tools. The lock is let go meanwhile. */
static int fill(struct zstd_cache *cache, struct slot *slot, size_t tools,
		const struct zstd_cache_request *wanted)
{
	int rc = -ENOMEM;

	slot->state = SLOT_FILLING;
	slot->owner = wanted->owner;
	slot->number = wanted->number;
	cache->taken[tools] = true;
	pthread_mutex_unlock(&cache->lock);
	if (make_tools(&cache->tools[tools], slot))
		rc = wanted->fill(wanted->context, wanted->number, slot->bytes,
				  &cache->tools[tools]);
	pthread_mutex_lock(&cache->lock);
	cache->taken[tools] = false;
	slot->state = rc < 0 ? SLOT_EMPTY : SLOT_FULL;
	pthread_cond_broadcast(&cache->freed);
	return rc;
}

/* A slot that holds the frame, and stays until its readers are one fewer. NULL with *rc. */
static struct slot *take(struct zstd_cache *cache, const struct zstd_cache_request *wanted, int *rc)
{
	struct slot *slot;

	*rc = 0;
	for (;;) {
		slot = find(cache, wanted);
		if (slot && slot->state == SLOT_FULL)
			break;
		if (!slot) {
			struct slot *victim = find_victim(cache);
			const size_t tools = find_tools(cache);

			if (victim && tools < ZSTD_CACHE_BUSY_MAX) {
				*rc = fill(cache, victim, tools, wanted);
				if (*rc < 0)
					return NULL;
				slot = victim;
				break;
			}
		}
		pthread_cond_wait(&cache->freed, &cache->lock);
	}
	slot->readers++;
	slot->used = ++cache->clock;
	return slot;
}

int zstd_cache_read(struct zstd_cache *cache, const struct zstd_cache_request *wanted, void *bytes,
		    size_t n, size_t from)
{
	struct slot *slot;
	int rc;

	pthread_mutex_lock(&cache->lock);
	slot = take(cache, wanted, &rc);
	pthread_mutex_unlock(&cache->lock);
	if (!slot)
		return rc;
	memcpy(bytes, slot->bytes + from, n);
	pthread_mutex_lock(&cache->lock);
	if (--slot->readers == 0)
		pthread_cond_broadcast(&cache->freed);
	pthread_mutex_unlock(&cache->lock);
	return 0;
}
