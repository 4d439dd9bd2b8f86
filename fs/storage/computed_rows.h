/* SPDX-License-Identifier: MIT */
/* computed_rows.h - a backing whose bytes are computed by each read: rows of equal length, each
 * computable alone. A read computes the rows that it touches. Up to four rows of which only parts
 * were read stay in memory, and reads share them. */
#ifndef FS_STORAGE_COMPUTED_ROWS_H
#define FS_STORAGE_COMPUTED_ROWS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct backing;

struct computed_rows_source {
	uint64_t n;    /* rows */
	size_t length; /* bytes of one row, at least 1 */
	/* Compute all bytes of the n rows from first on. Results are deterministic. Source data is
	 * read with the flags. Threads call it concurrently. Returns 0, an error of backing_read(),
	 * or -EINTR soon after *stop became true; stop may be NULL. */
	int (*make)(void *context, unsigned flags, uint64_t first, size_t n, void *bytes,
		    const atomic_bool *stop);
	void (*release)(void *context);
	void *context;
};

/* A backing of these rows, with the path and times of the file from which they are computed, which
 * is borrowed. The backing owns source->context, also on failure. NULL: out of memory, or the rows
 * have more than 2^63 - 1 bytes together. */
struct backing *computed_rows_new(const struct computed_rows_source *source,
				  const struct backing *of);

#endif
