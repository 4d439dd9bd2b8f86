/* SPDX-License-Identifier: MIT */
/* remote_cache.c - see remote_cache.h. Present blocks form two rings, one of them for pinned
 * blocks. The first block after the head was read last. */
#include "fs/storage/remote_cache.h"
#include "fs/util/cond_poll.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 2048u

struct remote_block {
	uint64_t file, block;
	enum { FETCHING, THERE, FAILED } state;
	int rc;		  /* FAILED: the error; the last waiter frees the block */
	unsigned waiting; /* number of threads */
	unsigned holders; /* THERE: number of threads that copy from the block */
	bool kept;
	size_t length;
	uint8_t *bytes;
	struct remote_block *same_bucket;
	struct remote_block *before, *after; /* THERE: in a ring */
};

struct remote_cache {
	atomic_uint refs;
	atomic_bool interrupted;
	atomic_uint_fast64_t files;
	pthread_mutex_t lock; /* protects the members below */
	pthread_cond_t fetched;
	size_t used, kept;		    /* bytes of all present blocks; of the pinned ones */
	struct remote_block recent, pinned; /* heads of the rings */
	struct remote_block *buckets[BUCKETS];
};

struct remote_cache *remote_cache_new(void)
{
	struct remote_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return NULL;
	atomic_init(&cache->refs, 1);
	pthread_mutex_init(&cache->lock, NULL);
	cond_poll_init(&cache->fetched);
	cache->recent.before = cache->recent.after = &cache->recent;
	cache->pinned.before = cache->pinned.after = &cache->pinned;
	return cache;
}

struct remote_cache *remote_cache_ref(struct remote_cache *cache)
{
	atomic_fetch_add(&cache->refs, 1);
	return cache;
}

void remote_cache_interrupt(struct remote_cache *cache, bool interrupt)
{
	atomic_store(&cache->interrupted, interrupt);
}

const atomic_bool *remote_cache_interrupted(const struct remote_cache *cache)
{
	return &cache->interrupted;
}

uint64_t remote_cache_add_file(struct remote_cache *cache)
{
	return atomic_fetch_add(&cache->files, 1);
}

/* ## with the lock held */

/* The pointer to the block in its bucket, or the place for one. */
static struct remote_block **place_of(struct remote_cache *cache, uint64_t file, uint64_t block)
{
	const uint64_t mixed = (file * 0x9e3779b97f4a7c15u) ^ (block * 0xff51afd7ed558ccdu);
	struct remote_block **at = &cache->buckets[(mixed >> 32) % BUCKETS];

	while (*at && ((*at)->file != file || (*at)->block != block))
		at = &(*at)->same_bucket;
	return at;
}

static struct remote_block *find(struct remote_cache *cache, uint64_t file, uint64_t block)
{
	return *place_of(cache, file, block);
}

static void put_first(struct remote_block *head, struct remote_block *block)
{
	block->before = head;
	block->after = head->after;
	block->before->after = block;
	block->after->before = block;
}

static void take_out(struct remote_block *block)
{
	block->before->after = block->after;
	block->after->before = block->before;
}

static void forget(struct remote_cache *cache, struct remote_block *block)
{
	struct remote_block **at = place_of(cache, block->file, block->block);

	*at = block->same_bucket;
}

static void drop(struct remote_cache *cache, struct remote_block *block)
{
	forget(cache, block);
	take_out(block);
	cache->used -= block->length;
	cache->kept -= block->kept ? block->length : 0;
	free(block->bytes);
	free(block);
}

static void make_room(struct remote_cache *cache)
{
	struct remote_block *block = cache->recent.before, *before;

	for (; cache->used - cache->kept > REMOTE_CACHE_BYTES && block != &cache->recent;
	     block = before) {
		before = block->before;
		if (!block->holders && !block->waiting)
			drop(cache, block);
	}
}

/* Mark the block, which could not be fetched, as failed. */
static void give_up(struct remote_cache *cache, struct remote_block *block, int rc)
{
	forget(cache, block);
	block->state = FAILED;
	block->rc = rc;
	if (!block->waiting)
		free(block);
}

/* Add a block that is to be fetched. False: out of memory. */
static bool enter(struct remote_cache *cache, uint64_t file, uint64_t number)
{
	struct remote_block *block = calloc(1, sizeof(*block));

	if (!block)
		return false;
	block->file = file;
	block->block = number;
	*place_of(cache, file, number) = block;
	return true;
}

/* ## */

static void drop_of(struct remote_cache *cache, struct remote_block *head, uint64_t file)
{
	struct remote_block *after;

	for (struct remote_block *block = head->after; block != head; block = after) {
		after = block->after;
		if (block->file == file)
			drop(cache, block);
	}
}

void remote_cache_drop_file(struct remote_cache *cache, uint64_t file)
{
	pthread_mutex_lock(&cache->lock);
	drop_of(cache, &cache->recent, file);
	drop_of(cache, &cache->pinned, file);
	pthread_mutex_unlock(&cache->lock);
}

void remote_cache_unref(struct remote_cache *cache)
{
	if (!cache || atomic_fetch_sub(&cache->refs, 1) != 1)
		return;
	while (cache->recent.after != &cache->recent)
		drop(cache, cache->recent.after);
	while (cache->pinned.after != &cache->pinned)
		drop(cache, cache->pinned.after);
	pthread_cond_destroy(&cache->fetched);
	pthread_mutex_destroy(&cache->lock);
	free(cache);
}

void remote_cache_keep(struct remote_cache *cache, uint64_t file, uint64_t blocks)
{
	if (blocks > REMOTE_KEPT_BYTES / REMOTE_BLOCK)
		blocks = REMOTE_KEPT_BYTES / REMOTE_BLOCK;
	pthread_mutex_lock(&cache->lock);
	for (uint64_t i = 0; i < blocks; i++) {
		struct remote_block *block = find(cache, file, i);

		if (!block || block->state != THERE || block->kept)
			continue;
		block->kept = true;
		cache->kept += block->length;
		take_out(block);
		put_first(&cache->pinned, block);
	}
	pthread_mutex_unlock(&cache->lock);
}

enum remote_cache_state remote_cache_get(struct remote_cache *cache, uint64_t file, uint64_t number,
					 size_t *n, struct remote_block **found)
{
	enum remote_cache_state state = REMOTE_MISSING;
	struct remote_block *block;
	size_t entered = 0;

	pthread_mutex_lock(&cache->lock);
	block = find(cache, file, number);
	if (!block) {
		while (entered < *n && !find(cache, file, number + entered) &&
		       enter(cache, file, number + entered))
			entered++;
		*n = entered;
	} else if (block->state == THERE) {
		state = REMOTE_PRESENT;
		block->holders++;
		take_out(block);
		put_first(block->kept ? &cache->pinned : &cache->recent, block);
	} else {
		state = REMOTE_FETCHING;
	}
	*found = block;
	pthread_mutex_unlock(&cache->lock);
	return state;
}

enum remote_cache_state remote_cache_peek(struct remote_cache *cache, uint64_t file,
					  uint64_t number)
{
	enum remote_cache_state state = REMOTE_MISSING;
	const struct remote_block *block;

	pthread_mutex_lock(&cache->lock);
	block = find(cache, file, number);
	if (block)
		state = block->state == THERE ? REMOTE_PRESENT : REMOTE_FETCHING;
	pthread_mutex_unlock(&cache->lock);
	return state;
}

const uint8_t *remote_block_bytes(const struct remote_block *block)
{
	return block->bytes;
}

void remote_cache_put(struct remote_cache *cache, struct remote_block *block)
{
	pthread_mutex_lock(&cache->lock);
	block->holders--;
	pthread_mutex_unlock(&cache->lock);
}

int remote_cache_fill(struct remote_cache *cache, uint64_t file, uint64_t number, size_t n,
		      const uint8_t *bytes, size_t last)
{
	int rc = 0;

	for (size_t i = 0; i < n; i++) {
		const size_t length = i + 1 < n ? REMOTE_BLOCK : last;
		uint8_t *copy = malloc(length);
		struct remote_block *block;

		if (copy)
			memcpy(copy, bytes + i * REMOTE_BLOCK, length);
		pthread_mutex_lock(&cache->lock);
		block = find(cache, file, number + i);
		if (copy) {
			block->bytes = copy;
			block->length = length;
			block->state = THERE;
			cache->used += length;
			put_first(&cache->recent, block);
			make_room(cache);
		} else {
			give_up(cache, block, -EINTR);
			rc = i ? rc : -ENOMEM;
		}
		pthread_cond_broadcast(&cache->fetched);
		pthread_mutex_unlock(&cache->lock);
	}
	return rc;
}

void remote_cache_fail(struct remote_cache *cache, uint64_t file, uint64_t number, size_t n, int rc)
{
	pthread_mutex_lock(&cache->lock);
	for (size_t i = 0; i < n; i++)
		give_up(cache, find(cache, file, number + i), rc);
	pthread_cond_broadcast(&cache->fetched);
	pthread_mutex_unlock(&cache->lock);
}

int remote_cache_wait(struct remote_cache *cache, uint64_t file, uint64_t number)
{
	struct remote_block *block;
	int rc = 0;

	pthread_mutex_lock(&cache->lock);
	block = find(cache, file, number);
	if (block && block->state == FETCHING) {
		block->waiting++;
		cond_poll_wait(&cache->fetched, &cache->lock);
		block->waiting--;
		if (block->state == FAILED) {
			rc = block->rc == -EINTR ? 0 : block->rc;
			if (!block->waiting)
				free(block);
		}
	}
	pthread_mutex_unlock(&cache->lock);
	return rc;
}

size_t remote_cache_bytes(struct remote_cache *cache)
{
	size_t used;

	pthread_mutex_lock(&cache->lock);
	used = cache->used;
	pthread_mutex_unlock(&cache->lock);
	return used;
}
