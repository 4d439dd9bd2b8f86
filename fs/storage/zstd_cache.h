/* SPDX-License-Identifier: MIT */
/* zstd_cache.h - what zstd_seekable.c has decompressed lately, for all files of a mount together:
 * never more than ZSTD_CACHE_FRAMES frames, and never more than ZSTD_CACHE_BUSY_MAX being
 * decompressed, however many read. That is at most 26 MB, and nothing before the first read. The
 * lock is never held while something is read, decompressed or copied. */
#ifndef FS_STORAGE_ZSTD_CACHE_H
#define FS_STORAGE_ZSTD_CACHE_H

#include <stddef.h>
#include <stdint.h>
#include <zstd.h>

/* What a frame holds when it is decompressed; the last one of a file may hold less. */
#define ZSTD_FRAME_BYTES ((size_t)1 << 20)

#define ZSTD_CACHE_FRAMES   16
#define ZSTD_CACHE_BUSY_MAX 8

struct zstd_cache; /* counted; any thread may use it */

/* NULL: out of memory. */
struct zstd_cache *zstd_cache_new(void);
struct zstd_cache *zstd_cache_ref(struct zstd_cache *cache);
void zstd_cache_unref(struct zstd_cache *cache); /* NULL is fine */

/* A number that no other file has had. */
uint64_t zstd_cache_new_owner(struct zstd_cache *cache);

/* What decompressing a frame takes: packed has room for any frame that is worth it. */
struct zstd_cache_context {
	ZSTD_DCtx *zstd;
	uint8_t *packed;
	size_t room;
};

/* One frame of one file. fill() makes its content, up to ZSTD_FRAME_BYTES, and returns 0 or -errno;
 * several threads may be in it at once, but never for the same frame. */
struct zstd_cache_request {
	uint64_t owner;
	uint32_t number;
	int (*fill)(void *context, uint32_t number, uint8_t *bytes,
		    struct zstd_cache_context *tools);
	void *context;
};

/* n bytes at from of the frame's content. Returns 0, -ENOMEM, or what fill() says; a frame that
 * could not be made is tried anew the next time. */
int zstd_cache_read(struct zstd_cache *cache, const struct zstd_cache_request *wanted, void *bytes,
		    size_t n, size_t from);

#endif
