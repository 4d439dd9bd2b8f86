/* SPDX-License-Identifier: MIT */
/* backing.h - a file on disk whose bytes are served: a base, or an organ in a layer.
 *
 * What was there when it was opened is what every read gives. A file that has shrunk, grown or been
 * written since answers -EIO, for it cannot be told any more which of its bytes are the old ones:
 * never a short read, never zeros. It is read, not mapped, so that no change is a signal. A file
 * that is renamed, or has another renamed over it, stays readable.
 *
 * A file may hold its bytes compressed (frames.h): sizes and offsets are those of what it holds. */
#ifndef FS_BACKING_H
#define FS_BACKING_H

#include "fs/frames.h"
#include "fs/log.h"
#include "fs/xxh128.h"
#include "gguf/cursor.h"
#include "gguf/error.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/stat.h>

struct backing; /* counted; immutable, any thread may use it */

/* Open a regular file for reading. NULL with err set: what open(2) says, EINVAL no regular file. */
struct backing *backing_open(const char *path, struct error *err);

/* The same for a descriptor, which is the backing's from then on, also on failure. The path is
 * absolute and only told. */
struct backing *backing_adopt(int fd, const char *path, struct error *err);

/* The same for a file of frames. NULL also as frames_open(). */
struct backing *backing_adopt_frames(int fd, const char *path, struct frames_cache *cache,
				     struct error *err);

/* A file of size bytes that cannot be read, to stand in for one that should be there. NULL: out of
 * memory. */
struct backing *backing_gone(const char *path, uint64_t size);

struct backing *backing_ref(struct backing *backing);
void backing_unref(struct backing *backing); /* NULL is fine */

/* All n bytes at offset, or -EIO, or -ENOMEM where that takes memory. */
int backing_read(struct backing *backing, void *bytes, size_t n, uint64_t offset);

/* The same in two steps, for many small pieces: what backing_peek() read counts only once
 * backing_check() has said 0 afterwards. */
int backing_peek(struct backing *backing, void *bytes, size_t n, uint64_t offset);
int backing_check(struct backing *backing);

/* As it was when opened. The path is absolute; both are borrowed. The size is of what it holds, the
 * status is the file's. */
const char *backing_path(const struct backing *backing);
const struct stat *backing_stat(const struct backing *backing);
uint64_t backing_size(const struct backing *backing);

/* -1: its bytes are not on disk as they are read. */
int backing_fd(const struct backing *backing);

/* For the parsers of gguf/, and headers only: neither checksums nor the XXH128 are looked at.
 * Valid as long as the backing. */
struct source backing_source(struct backing *backing);

/* To be called before anybody else knows the backing. The log, which outlives it, is told once when
 * it cannot be read any more. */
void backing_report_to(struct backing *backing, struct log *log);

/* As the one before. Its bytes have to have this XXH128: the first read looks at all of them, and
 * if they have not, every read is -EIO. */
void backing_expect(struct backing *backing, const char xxh128[XXH128_TEXT]);

/* Would the first read have to do so yet, and take long? */
bool backing_is_unverified(const struct backing *backing);

/* Do what the first read would. When *stop becomes true, which may be NULL, it soon returns -EINTR.
 * Returns 0 at once where there is nothing to be done, or what a read does. */
int backing_verify(struct backing *backing, const atomic_bool *stop);

/* Was there a read that it answered with -EIO? */
bool backing_has_failed(const struct backing *backing);

#endif
