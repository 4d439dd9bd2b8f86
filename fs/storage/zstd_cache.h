/* SPDX-License-Identifier: MIT */
/* frames_cache.h - what frames.c has decompressed lately, for all files of a mount together: never
 * more than FRAMES_KEPT frames, and never more than FRAMES_AT_ONCE being decompressed, whoever
 * reads. That is at most 26 MB, and nothing before the first read. The lock is never held while
 * something is read, decompressed or copied. */
#ifndef FS_FRAMES_CACHE_H
#define FS_FRAMES_CACHE_H

#include <stddef.h>
#include <stdint.h>
#include <zstd.h>

/* What a frame holds when it is decompressed; the last one of a file may hold less. */
#define FRAME_BYTES ((size_t)1 << 20)

#define FRAMES_KEPT    16
#define FRAMES_AT_ONCE 8

struct frames_cache; /* counted; any thread may use it */

/* NULL: out of memory. */
struct frames_cache *frames_cache_new(void);
struct frames_cache *frames_cache_ref(struct frames_cache *cache);
void frames_cache_unref(struct frames_cache *cache); /* NULL is fine */

/* A number that no other file has had. */
uint64_t frames_cache_owner(struct frames_cache *cache);

/* What decompressing a frame takes: packed has room for any frame that is worth it. */
struct frames_tools {
	ZSTD_DCtx *zstd;
	uint8_t *packed;
	size_t room;
};

/* One frame of one file. fill() makes its content, up to FRAME_BYTES, and returns 0 or -errno;
 * several threads may be in it at once, but never for the same frame. */
struct frames_wanted {
	uint64_t owner;
	uint32_t number;
	int (*fill)(void *context, uint32_t number, uint8_t *bytes, struct frames_tools *tools);
	void *context;
};

/* n bytes at from of the frame's content. Returns 0, -ENOMEM, or what fill() says; a frame that
 * could not be made is tried anew the next time. */
int frames_cache_read(struct frames_cache *cache, const struct frames_wanted *wanted, void *bytes,
		      size_t n, size_t from);

#endif
