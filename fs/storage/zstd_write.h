/* SPDX-License-Identifier: MIT */
/* zstd_write.h - writes what zstd_seekable.h reads. The same bytes at the same level give the same
 * file. */
#ifndef FS_STORAGE_ZSTD_WRITE_H
#define FS_STORAGE_ZSTD_WRITE_H

#include "fs/storage/zstd_seekable.h"

#include <stdbool.h>

#define ZSTD_WRITE_LEVEL_MAX 22

struct zstd_writer;

/* Begin to write to an empty file, whose descriptor is borrowed, at a zstd level from 1 to
 * ZSTD_WRITE_LEVEL_MAX. From 0.6 MB of memory at level 1 to 18 MB at level 19. NULL: out of
 * memory. */
struct zstd_writer *zstd_writer_new(int fd, int level);
void zstd_writer_free(struct zstd_writer *writer); /* NULL is fine */

/* One more frame, of ZSTD_FRAME_BYTES, or of fewer if it is the last. Returns 0, -EFBIG, -ENOMEM or
 * what the disk says. */
int zstd_writer_add(struct zstd_writer *writer, const void *bytes, size_t n);

/* After the last frame: the table. Returns the size of the file, or -errno. */
int64_t zstd_writer_finish(struct zstd_writer *writer);

/* Would compressing n bytes, at most ZSTD_FRAME_BYTES, as a file of one frame save more than 5 %?
 * Also false where that cannot be found out. */
bool zstd_write_is_worthwhile(const void *bytes, size_t n, int level);

#endif
