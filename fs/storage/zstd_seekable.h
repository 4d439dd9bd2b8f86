/* SPDX-License-Identifier: MIT */
/* zstd_seekable.h - bytes that are compressed on disk, and any of which can be read: the seekable
 * format of zstd.
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

/* A file of more is refused: 256 GiB of content, and 3 MB of memory for the table. */
#define ZSTD_SEEKABLE_FRAMES_MAX ((uint32_t)1 << 18)

/* What a frame holds when it is decompressed; the last one of a file may hold less. */
#define ZSTD_FRAME_BYTES ((size_t)1 << 20)

/* What was decompressed lately, for all files of a mount together: never more than
 * ZSTD_CACHE_FRAMES frames, and never more than ZSTD_CACHE_BUSY_MAX being decompressed, however
 * many read. That is at most 26 MB, and nothing before the first read. The lock is never held while
 * something is read, decompressed or copied. */
#define ZSTD_CACHE_FRAMES   16
#define ZSTD_CACHE_BUSY_MAX 8

struct zstd_cache; /* counted; any thread may use it */

/* NULL: out of memory. */
struct zstd_cache *zstd_cache_new(void);
struct zstd_cache *zstd_cache_ref(struct zstd_cache *cache);
void zstd_cache_unref(struct zstd_cache *cache); /* NULL is fine */

struct zstd_seekable; /* immutable, any thread may use it */

/* The file behind a descriptor, which is borrowed and has to stay; the cache gets a reference. The
 * table is read and checked, no frame is looked at. NULL with err set: EBADMSG with the place,
 * EIO, ENOMEM. */
struct zstd_seekable *zstd_seekable_open(int fd, struct zstd_cache *cache, struct error *err);
void zstd_seekable_close(struct zstd_seekable *frames); /* NULL is fine */

/* What the frames hold, in bytes. */
uint64_t zstd_seekable_size(const struct zstd_seekable *frames);

/* All n bytes at offset. Returns 0, or -EIO or -ENOMEM with err set; a frame that is not what the
 * table says is -EIO. */
int zstd_seekable_read(struct zstd_seekable *frames, void *bytes, size_t n, uint64_t offset,
		       struct error *err);

/* The same for bytes in the first ZSTD_SEEKABLE_PEEK, without the work of a whole frame, and so
 * without its checksum: for headers, before what comes after them is read. */
#define ZSTD_SEEKABLE_PEEK ((size_t)1 << 17)
int zstd_seekable_peek(struct zstd_seekable *frames, void *bytes, size_t n, uint64_t offset,
		       struct error *err);

#define ZSTD_WRITE_LEVEL_MAX 22

/* Writes such a file. The same bytes at the same level give the same file. */
struct zstd_writer;

/* Begin, at a zstd level from 1 to ZSTD_WRITE_LEVEL_MAX. From 0.6 MB of memory at level 1 to 18 MB
 * at level 19. NULL: out of memory. */
struct zstd_writer *zstd_writer_new(int level);
void zstd_writer_free(struct zstd_writer *writer); /* NULL is fine */

/* One more frame, of ZSTD_FRAME_BYTES, or of fewer if it is the last. The first one may come before
 * the file. Returns 0, -EFBIG, -ENOMEM or what the disk says. */
int zstd_writer_add(struct zstd_writer *writer, const void *bytes, size_t n);

/* After the first frame: would a file of it alone be more than 5 % smaller than its bytes? */
bool zstd_writer_is_worthwhile(const struct zstd_writer *writer);

/* The empty file to write to, whose descriptor is borrowed. Returns 0 or what the disk says. */
int zstd_writer_begin(struct zstd_writer *writer, int fd);

/* After the last frame: the table. Returns the size of the file, or -errno. */
int64_t zstd_writer_finish(struct zstd_writer *writer);

#endif
