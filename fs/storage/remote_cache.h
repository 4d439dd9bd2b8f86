/* SPDX-License-Identifier: MIT */
/* remote_cache.h - blocks of remote files that were fetched lately, for all files of a mount
 * together.
 *
 * 1. There are never more than REMOTE_CACHE_BYTES of them, but for those that are kept and those
 *    that are being fetched; what was not read for longest goes first.
 * 2. A block is fetched by one thread, and others that want it wait for that one. Where it fails,
 *    they fail with it; where it was interrupted, one of them fetches.
 * 3. The lock is never held while something is fetched or copied. */
#ifndef FS_STORAGE_REMOTE_CACHE_H
#define FS_STORAGE_REMOTE_CACHE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REMOTE_BLOCK	   ((size_t)1 << 16)
#define REMOTE_CACHE_BYTES ((size_t)64 << 20)
#define REMOTE_KEPT_BYTES  ((size_t)32 << 20)

struct remote_cache; /* counted; any thread may use it */
struct remote_block; /* REMOTE_BLOCK bytes, or fewer at the end of a file */

/* NULL: out of memory. */
struct remote_cache *remote_cache_new(void);
struct remote_cache *remote_cache_ref(struct remote_cache *cache);
void remote_cache_unref(struct remote_cache *cache); /* NULL is fine */

/* While it is true, what is being fetched and what is to be is given up with -EINTR. */
void remote_cache_interrupt(struct remote_cache *cache, bool interrupt);
const atomic_bool *remote_cache_interrupted(const struct remote_cache *cache);

/* A number for the blocks of one more file. */
uint64_t remote_cache_add_file(struct remote_cache *cache);

/* Forget the blocks of a file, of which no thread holds one, nor fetches any. */
void remote_cache_drop_file(struct remote_cache *cache, uint64_t file);

/* Blocks of the file before that number that are there stay as long as the file, but for those
 * beyond REMOTE_KEPT_BYTES. */
void remote_cache_keep(struct remote_cache *cache, uint64_t file, uint64_t blocks);

/* What remote_cache_get() found. */
enum remote_cache_state {
	REMOTE_THERE,	/* the block: remote_cache_put() is due */
	REMOTE_ABSENT,	/* this thread is to fetch *n blocks from it on: remote_cache_fill() or
			 * remote_cache_fail() is due */
	REMOTE_FETCHED, /* another thread is fetching it: remote_cache_wait() */
};

/* Block number `block` of a file. Where it is absent, so are the *n - 1 after it, all of which are
 * this thread's to fetch then: *n becomes fewer where one of them is there. */
enum remote_cache_state remote_cache_get(struct remote_cache *cache, uint64_t file, uint64_t block,
					 size_t *n, struct remote_block **found);

/* The same, and nothing else. */
enum remote_cache_state remote_cache_peek(struct remote_cache *cache, uint64_t file,
					  uint64_t block);

const uint8_t *remote_block_bytes(const struct remote_block *block);
void remote_cache_put(struct remote_cache *cache, struct remote_block *block);

/* The n blocks that this thread was to fetch: their bytes, which are copied, the last with `last`
 * bytes. What finds no memory is absent. Returns 0, or -ENOMEM where that is the first of them. */
int remote_cache_fill(struct remote_cache *cache, uint64_t file, uint64_t block, size_t n,
		       const uint8_t *bytes, size_t last);

/* They could not be fetched: -errno. */
void remote_cache_fail(struct remote_cache *cache, uint64_t file, uint64_t block, size_t n, int rc);

/* Wait a moment for the thread that fetches the block. Returns 0: look again; or what it failed
 * with, but for -EINTR. */
int remote_cache_wait(struct remote_cache *cache, uint64_t file, uint64_t block);

/* Bytes that the blocks of all files have. */
size_t remote_cache_bytes(struct remote_cache *cache);

#endif
