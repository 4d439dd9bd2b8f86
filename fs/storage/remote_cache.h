/* SPDX-License-Identifier: MIT */
/* remote_cache.h - an LRU cache of blocks of remote files, shared by all files of a mount.
 *
 * 1. It has at most REMOTE_CACHE_BYTES, not counting pinned blocks and those being fetched.
 * 2. One thread fetches a block, others wait for it. If the fetch fails, the waiting threads fail
 *    too; if it was interrupted, one of them fetches the block.
 * 3. The lock is not held during a fetch or copy. */
#ifndef FS_STORAGE_REMOTE_CACHE_H
#define FS_STORAGE_REMOTE_CACHE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REMOTE_BLOCK	   ((size_t)1 << 16)
#define REMOTE_CACHE_BYTES ((size_t)64 << 20)
#define REMOTE_KEPT_BYTES  ((size_t)32 << 20)

struct remote_cache; /* reference-counted; any thread may use it */
struct remote_block; /* REMOTE_BLOCK bytes, or fewer at the end of a file */

/* NULL: out of memory. */
struct remote_cache *remote_cache_new(void);
struct remote_cache *remote_cache_ref(struct remote_cache *cache);
void remote_cache_unref(struct remote_cache *cache); /* NULL is fine */

/* Set whether all fetches, present and future, end with -EINTR. */
void remote_cache_interrupt(struct remote_cache *cache, bool interrupt);
const atomic_bool *remote_cache_interrupted(const struct remote_cache *cache);

/* An identifier for the blocks of a new file. */
uint64_t remote_cache_add_file(struct remote_cache *cache);

/* Drop the blocks of a file. No thread may hold or fetch one. */
void remote_cache_drop_file(struct remote_cache *cache, uint64_t file);

/* Pin those of the file's first `blocks` blocks that are present and lie in its first
 * REMOTE_KEPT_BYTES, until the file is dropped. */
void remote_cache_keep(struct remote_cache *cache, uint64_t file, uint64_t blocks);

/* Result of remote_cache_get(). */
enum remote_cache_state {
	REMOTE_PRESENT,	 /* present; release with remote_cache_put() */
	REMOTE_MISSING,	 /* fetch *n blocks, then remote_cache_fill() or remote_cache_fail() */
	REMOTE_FETCHING, /* another thread fetches it: remote_cache_wait() */
};

/* Look up a block of a file. If it is absent, this thread has to fetch it and the absent blocks
 * after it: *n, the number wanted, becomes their number, or 0 if out of memory. */
enum remote_cache_state remote_cache_get(struct remote_cache *cache, uint64_t file, uint64_t block,
					 size_t *n, struct remote_block **found);

/* The state of a block, without side effects. */
enum remote_cache_state remote_cache_peek(struct remote_cache *cache, uint64_t file,
					  uint64_t block);

const uint8_t *remote_block_bytes(const struct remote_block *block);
void remote_cache_put(struct remote_cache *cache, struct remote_block *block);

/* Store the n blocks that this thread has fetched; the bytes are copied, and the last block has
 * `last` bytes. A block for which memory is short stays absent. Returns 0, or -ENOMEM if that
 * happens to the first. */
int remote_cache_fill(struct remote_cache *cache, uint64_t file, uint64_t block, size_t n,
		      const uint8_t *bytes, size_t last);

/* Report that the n blocks could not be fetched: -errno. */
void remote_cache_fail(struct remote_cache *cache, uint64_t file, uint64_t block, size_t n, int rc);

/* Wait a moment for the thread that fetches the block. Returns 0: look the block up again; or the
 * error of the fetch, unless it was -EINTR. */
int remote_cache_wait(struct remote_cache *cache, uint64_t file, uint64_t block);

/* Bytes in the blocks of all files. */
size_t remote_cache_bytes(struct remote_cache *cache);

#endif
