/* SPDX-License-Identifier: MIT */
/* computed_rows.h - a backing whose bytes are made when they are read: rows of one length, each
 * made by itself. A read makes the rows that it touches; what reads beside each other have in
 * common is made once, as long as it is the same moment. */
#ifndef FS_STORAGE_COMPUTED_ROWS_H
#define FS_STORAGE_COMPUTED_ROWS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct backing;

struct computed_rows_source {
	uint64_t n;    /* rows */
	size_t length; /* bytes of one, at least 1 */
	/* All bytes of the n rows from first on, always the same ones. What they are
	 * made of is read with the flags. Any thread may call it, also several at once. Errors are
	 * -errno, as of backing_read(). When *stop becomes true, which may be NULL, one that takes
	 * long soon returns -EINTR. */
	int (*make)(void *context, unsigned flags, uint64_t first, size_t n, void *bytes,
		    const atomic_bool *stop);
	void (*release)(void *context);
	void *context;
};

/* A backing of these rows, with the path and the time of the file that they are made of, which is
 * borrowed; the source's context becomes the backing's, also on failure. NULL: out of memory, or
 * the rows together have more than 2^63 - 1 bytes. */
struct backing *computed_rows_new(const struct computed_rows_source *source,
				  const struct backing *of);

#endif
