/* SPDX-License-Identifier: MIT */
/* donor.h - the origin of a graft: a tensor of a GGUF, or an organ file without known origin. The
 * bytes of an organ do not contain it.
 *
 * A donor keeps no file open itself, so that a disk from which organs were copied can be unmounted.
 * Threads that read the donor open the file again and check that it is the same. */
#ifndef FS_BASE_DONOR_H
#define FS_BASE_DONOR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

struct backing;
struct error;

struct donor; /* reference-counted, immutable; any thread may use it */

/* The donor for a tensor of the GGUF file; the name, n bytes, is copied. If tensor is NULL, file is
 * an organ file. Takes a reference of the file. NULL: out of memory. */
struct donor *donor_from_backing(struct backing *file, const char *tensor, size_t n);

/* donor_from_backing() for a file that is not kept open: an absolute path and the file's fstat(2).
 * If stat is NULL, the file must not be opened again. */
struct donor *donor_from_path(const char *path, const struct stat *stat, const char *tensor,
			      size_t n);

/* donor_from_backing() for a file that a layer names: the file at path, if it has that fingerprint
 * (fingerprint.h), which is checked later. fingerprint is empty for an organ file. */
struct donor *donor_from_record(const char *path, const char *fingerprint, const char *tensor,
				size_t n);

/* The donor for a file of .views/VIEW that was computed from the donor `of`. Returns NULL if of is
 * NULL, or out of memory. For a view of a view, the last view counts. */
struct donor *donor_from_view(const struct donor *of, const char *view);

/* A copy of the donor with that fingerprint of its GGUF. NULL: out of memory. */
struct donor *donor_with_fingerprint(const struct donor *of, const char *fingerprint);

/* Set the GGUF's fingerprint, before other threads know the donor. */
void donor_set_fingerprint(struct donor *donor, const char *fingerprint);

struct donor *donor_ref(struct donor *donor); /* NULL is fine, in both */
void donor_unref(struct donor *donor);

/* The file's absolute path, borrowed. */
const char *donor_path(const struct donor *donor);

/* The exact name of the tensor in the GGUF, with a NUL after it, and its length; borrowed. NULL: an
 * organ file. */
const char *donor_tensor(const struct donor *donor, size_t *n);

/* Fingerprint of the GGUF, empty if unknown; and view, such as "spectral", NULL for the tensor
 * itself. Both are borrowed. */
const char *donor_fingerprint(const struct donor *donor);
const char *donor_view(const struct donor *donor);

/* The file if it is held open, borrowed; else NULL. */
struct backing *donor_backing(const struct donor *donor);

/* Do both come from the same file? */
bool donor_same_file(const struct donor *a, const struct donor *b);

/* The same, or perhaps: if one is identified by its stat and the other by its fingerprint, equal
 * paths suffice. Reads nothing. */
bool donor_may_be_same_file(const struct donor *a, const struct donor *b);

/* Open the file, to release with backing_unref(). May wait for the disk. NULL with err set: errors
 * of backing_open(), or ESTALE if the file was replaced or written to. */
struct backing *donor_open(const struct donor *donor, struct error *err);

#endif
