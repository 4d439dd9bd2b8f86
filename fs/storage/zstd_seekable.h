/* SPDX-License-Identifier: MIT */
/* zstd_seekable.h - random access to compressed files in zstd's seekable format.
 *
 *	frame ... frame table
 *
 *	frame   a zstd frame that holds ZSTD_FRAME_BYTES, the last one the rest
 *	table   u32 0x184D2A5E, u32 bytes that follow: a frame that `zstd -d` skips
 *	        entry ... entry footer
 *	entry   u32 bytes of the frame, u32 bytes that it holds, u32 low half of their XXH64
 *	footer  u32 number of frames, u8 0x80 for "with checksums", u32 0x8F92EAB1
 *
 * Little-endian. Source: zstd_seekable_compression_format.md, version 0.1.0, of zstd. */
#ifndef FS_STORAGE_ZSTD_SEEKABLE_H
#define FS_STORAGE_ZSTD_SEEKABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

#define ZSTD_SEEKABLE_TABLE_MAGIC   0x184D2A5Eu
#define ZSTD_SEEKABLE_FOOTER_MAGIC  0x8F92EAB1u
#define ZSTD_SEEKABLE_CHECKSUM_FLAG 0x80u
#define ZSTD_SEEKABLE_TABLE_HEADER  8u
#define ZSTD_SEEKABLE_ENTRY	    12u
#define ZSTD_SEEKABLE_FOOTER	    9u

/* More frames are refused: the limit is 256 GiB of content, 3 MB of memory for the table. */
#define ZSTD_SEEKABLE_FRAMES_MAX ((uint32_t)1 << 18)

/* decompressed bytes of a frame; the last one of a file may have fewer */
#define ZSTD_FRAME_BYTES ((size_t)1 << 20)

/* An LRU cache of decompressed frames, shared by all files of a mount: at most ZSTD_CACHE_FRAMES
 * frames, and at most ZSTD_CACHE_BUSY_MAX concurrent decompressions, that is 26 MB; no memory
 * before the first read. The lock is not held during a read, decompression or copy. */
#define ZSTD_CACHE_FRAMES   16
#define ZSTD_CACHE_BUSY_MAX 8

struct zstd_cache; /* reference-counted; any thread may use it */

/* NULL: out of memory. */
struct zstd_cache *zstd_cache_new(void);
struct zstd_cache *zstd_cache_ref(struct zstd_cache *cache);
void zstd_cache_unref(struct zstd_cache *cache); /* NULL is fine */

struct zstd_seekable; /* immutable, any thread may use it */

/* Open the file of a descriptor, which is borrowed and has to stay open. The file takes a reference
 * of the cache. The table is checked, frames are not. NULL with err set: EBADMSG with the offset,
 * EIO, ENOMEM. */
struct zstd_seekable *zstd_seekable_open(int fd, struct zstd_cache *cache, struct error *err);
void zstd_seekable_close(struct zstd_seekable *frames); /* NULL is fine */

/* Decompressed size in bytes. */
uint64_t zstd_seekable_size(const struct zstd_seekable *frames);

/* Read all n bytes at offset. Returns 0, or -EIO or -ENOMEM with err set; -EIO also for a frame
 * that contradicts the table. */
int zstd_seekable_read(struct zstd_seekable *frames, void *bytes, size_t n, uint64_t offset,
		       struct error *err);

/* Read bytes within the first ZSTD_SEEKABLE_PEEK without decompressing a whole frame, and therefore
 * without verifying its checksum. For headers. */
#define ZSTD_SEEKABLE_PEEK ((size_t)1 << 17)
int zstd_seekable_peek(struct zstd_seekable *frames, void *bytes, size_t n, uint64_t offset,
		       struct error *err);

#define ZSTD_WRITE_LEVEL_MAX 22

/* Writes such a file. Equal bytes and levels give equal files. */
struct zstd_writer;

/* Begin a file at a zstd level from 1 to ZSTD_WRITE_LEVEL_MAX. Needs 0.6 MB of memory at level 1,
 * 18 MB at level 19. NULL: out of memory. */
struct zstd_writer *zstd_writer_new(int level);
void zstd_writer_free(struct zstd_writer *writer); /* NULL is fine */

/* Add a frame of ZSTD_FRAME_BYTES, or fewer if it is the last. The first frame may be added before
 * zstd_writer_begin(). Returns 0, -EFBIG, -ENOMEM or an error of write(2). */
int zstd_writer_add(struct zstd_writer *writer, const void *bytes, size_t n);

/* After the first frame: would a file of this frame alone be over 5 % smaller than its content? */
bool zstd_writer_is_worthwhile(const struct zstd_writer *writer);

/* Set the empty file to write to, borrowed. Returns 0 or an error of write(2). */
int zstd_writer_begin(struct zstd_writer *writer, int fd);

/* Write the table after the last frame. Returns the size of the file, or -errno. */
int64_t zstd_writer_finish(struct zstd_writer *writer);

#endif
