/* SPDX-License-Identifier: MIT */
/* donor.h - where a graft came from: a tensor of a GGUF, or an organ file of which nothing more is
 * known. The bytes of an organ do not tell.
 *
 * A donor holds no file open that nobody else does: a disk from which organs were copied can be
 * unmounted. Whoever wants to look into it opens it again, and finds out whether it is the same. */
#ifndef FS_DONOR_H
#define FS_DONOR_H

#include "fs/backing.h"

#include <stdbool.h>

struct donor; /* counted; immutable, any thread may use it */

/* A tensor of the GGUF file, whose name of n bytes is copied; with tensor NULL file is an organ
 * file. Takes a reference of its own to the file. NULL: out of memory. */
struct donor *donor_of_backing(struct backing *file, const char *tensor, size_t n);

/* The same for a file that is not kept open: an absolute path, and what fstat(2) said of it; with
 * stat NULL it must not be opened again. */
struct donor *donor_of_path(const char *path, const struct stat *stat, const char *tensor,
			    size_t n);

struct donor *donor_ref(struct donor *donor); /* NULL is fine, in both */
void donor_unref(struct donor *donor);

/* The file's absolute path, borrowed. */
const char *donor_path(const struct donor *donor);

/* The exact name of the tensor in that GGUF and its length, borrowed, with a NUL after it; NULL: it
 * is an organ file. */
const char *donor_tensor(const struct donor *donor, size_t *n);

/* Do both come from the same file? */
bool donor_same_file(const struct donor *a, const struct donor *b);

/* The file, to release with backing_unref(). May wait for the disk. NULL with err set: as
 * backing_open(), or ESTALE: another file has that name now, or it was written to. */
struct backing *donor_open(const struct donor *donor, struct error *err);

#endif
