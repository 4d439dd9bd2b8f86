/* SPDX-License-Identifier: MIT */
/* frames_write.h - writes what frames.h reads. The same bytes at the same level give the same
 * file. */
#ifndef FS_FRAMES_WRITE_H
#define FS_FRAMES_WRITE_H

#include "fs/storage/zstd_seekable.h"

#include <stdbool.h>

#define FRAMES_LEVEL_MAX 22

struct frames_writer;

/* Begin to write to an empty file, whose descriptor is borrowed, at a zstd level from 1 to
 * FRAMES_LEVEL_MAX. From 0.6 MB of memory at level 1 to 18 MB at level 19. NULL: out of memory. */
struct frames_writer *frames_writer_new(int fd, int level);
void frames_writer_free(struct frames_writer *writer); /* NULL is fine */

/* One more frame, of FRAME_BYTES, or of fewer if it is the last. Returns 0, -EFBIG, -ENOMEM or
 * what the disk says. */
int frames_add(struct frames_writer *writer, const void *bytes, size_t n);

/* After the last frame: the table. Returns the size of the file, or -errno. */
int64_t frames_end(struct frames_writer *writer);

/* Would compressing n bytes, at most FRAME_BYTES, as a file of one frame save more than 5 %? Also
 * false where that cannot be found out. */
bool frames_pay(const void *bytes, size_t n, int level);

#endif
