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

#include "fs/storage/zstd_cache.h"
#include "gguf/error.h"

#define ZSTD_SEEKABLE_TABLE_MAGIC   0x184D2A5Eu
#define ZSTD_SEEKABLE_FOOTER_MAGIC  0x8F92EAB1u
#define ZSTD_SEEKABLE_CHECKSUM_FLAG 0x80u
#define ZSTD_SEEKABLE_TABLE_HEADER  8u
#define ZSTD_SEEKABLE_ENTRY	    12u
#define ZSTD_SEEKABLE_FOOTER	    9u

/* A file of more is refused: 256 GiB of content, and 3 MB of memory for the table. */
#define ZSTD_SEEKABLE_FRAMES_MAX ((uint32_t)1 << 18)

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

#endif
