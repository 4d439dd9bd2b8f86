/* SPDX-License-Identifier: MIT */
/* backing.h - a file on disk whose bytes are served: a base, or an organ in a layer.
 *
 * What was there when it was opened is what every read gives. A file that has shrunk, grown or been
 * written since answers -EIO, for it cannot be told any more which of its bytes are the old ones:
 * never a short read, never zeros. It is read, not mapped, so that no change is a signal. A file
 * that is renamed, or has another renamed over it, stays readable. */
#ifndef FS_BACKING_H
#define FS_BACKING_H

#include "gguf/cursor.h"
#include "gguf/error.h"

#include <sys/stat.h>

struct backing; /* counted; immutable, any thread may use it */

/* Open a regular file for reading. NULL with err set: what open(2) says, EINVAL no regular file. */
struct backing *backing_open(const char *path, struct error *err);

/* The same for a descriptor, which is the backing's from then on, also on failure. */
struct backing *backing_adopt(int fd, const char *path, struct error *err);

/* A file of size bytes that cannot be read, to stand in for one that should be there. NULL: out of
 * memory. */
struct backing *backing_gone(const char *path, uint64_t size);

struct backing *backing_ref(struct backing *backing);
void backing_unref(struct backing *backing); /* NULL is fine */

/* All n bytes at offset, or -EIO. */
int backing_read(struct backing *backing, void *bytes, size_t n, uint64_t offset);

/* The same in two steps, for many small pieces: what backing_peek() read counts only once
 * backing_check() has said 0 afterwards. */
int backing_peek(struct backing *backing, void *bytes, size_t n, uint64_t offset);
int backing_check(struct backing *backing);

/* As it was when opened. The path is absolute; both are borrowed. */
const char *backing_path(const struct backing *backing);
const struct stat *backing_stat(const struct backing *backing);
uint64_t backing_size(const struct backing *backing);
int backing_fd(const struct backing *backing);

/* For the parsers of gguf/. Valid as long as the backing. */
struct source backing_source(struct backing *backing);

#endif
