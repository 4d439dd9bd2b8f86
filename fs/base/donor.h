/* SPDX-License-Identifier: MIT */
/* donor.h - where a graft came from: a tensor of a GGUF, or an organ file of which nothing more is
 * known. The bytes of an organ do not tell.
 *
 * A donor keeps no file open of its own: a disk from which organs were copied can be
 * unmounted. A thread that looks into it opens it again and checks that it is the same. */
#ifndef FS_BASE_DONOR_H
#define FS_BASE_DONOR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

struct backing;
struct error;

struct donor; /* counted; immutable, any thread may use it */

/* A tensor of the GGUF file, whose name of n bytes is copied; with tensor NULL file is an organ
 * file. Takes a reference of its own to the file. NULL: out of memory. */
struct donor *donor_from_backing(struct backing *file, const char *tensor, size_t n);

/* The same for a file that is not kept open: an absolute path, and what fstat(2) said of it; with
 * stat NULL it must not be opened again. */
struct donor *donor_from_path(const char *path, const struct stat *stat, const char *tensor,
			      size_t n);

/* The same for a file that a layer tells of: what has that fingerprint there is it (fingerprint.h),
 * of which nothing is looked at yet; the fingerprint is empty for an organ file. */
struct donor *donor_from_record(const char *path, const char *fingerprint, const char *tensor,
				size_t n);

/* What .views/VIEW of a mount makes of what came from there, which may be NULL: then it is too, as
 * where there is no memory. Of the view of a view the last one counts. */
struct donor *donor_from_view(const struct donor *of, const char *view);

/* The same donor, of which the GGUF has that fingerprint. NULL: out of memory. */
struct donor *donor_with_fingerprint(const struct donor *of, const char *fingerprint);

/* Before another thread knows the donor: the GGUF has that fingerprint. */
void donor_set_fingerprint(struct donor *donor, const char *fingerprint);

struct donor *donor_ref(struct donor *donor); /* NULL is fine, in both */
void donor_unref(struct donor *donor);

/* The file's absolute path, borrowed. */
const char *donor_path(const struct donor *donor);

/* The exact name of the tensor in that GGUF and its length, borrowed, with a NUL after it; NULL: it
 * is an organ file. */
const char *donor_tensor(const struct donor *donor, size_t *n);

/* Of the GGUF file, empty where it is not known; "spectral" and the like, NULL where it is the
 * tensor itself. Both are borrowed. */
const char *donor_fingerprint(const struct donor *donor);
const char *donor_view(const struct donor *donor);

/* The file, borrowed, where it is held open; else NULL. */
struct backing *donor_backing(const struct donor *donor);

/* Do both come from the same file? */
bool donor_same_file(const struct donor *a, const struct donor *b);

/* The same as far as it is known without reading: a file on record, of which the fingerprint alone
 * is known, and one of which it is not known are the same where their paths are. */
bool donor_may_be_same_file(const struct donor *a, const struct donor *b);

/* The file, to release with backing_unref(). May wait for the disk. NULL with err set: as
 * backing_open(), or ESTALE: another file has that name now, or it was written to. */
struct backing *donor_open(const struct donor *donor, struct error *err);

#endif
