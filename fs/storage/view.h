/* SPDX-License-Identifier: MIT */
/* view.h - the content of one file: a list of segments, each memory, an extent of a file on disk,
 * zeros, or bytes that are computed when they are read. Every file of a mount is read through a
 * view, by one routine. */
#ifndef FS_STORAGE_VIEW_H
#define FS_STORAGE_VIEW_H

#include "gguf/cursor.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

enum segment_kind { SEGMENT_MEMORY, SEGMENT_EXTENT, SEGMENT_ZEROS, SEGMENT_COMPUTED };

struct segment {
	enum segment_kind kind;
	uint64_t length;
	const void *memory;	 /* SEGMENT_MEMORY: length bytes, alive as long as the view */
	struct backing *backing; /* SEGMENT_EXTENT: the view takes a reference of its own */
	uint64_t offset;	 /* SEGMENT_EXTENT: in backing */
};

/* Makes the bytes of the segments that are SEGMENT_COMPUTED, which are numbered from 0 in their
 * order. Always the same ones. Any thread may call it, also several at once. It may take long; when
 * *stop becomes true, which may be NULL, it soon returns -EINTR. Errors are -errno. */
struct view_generator {
	/* Segments first to first + n - 1 are about to be computed. NULL: nothing is to be done. */
	int (*prepare)(struct view_generator *generator, size_t first, size_t n,
		       const atomic_bool *stop);
	/* All length bytes of one. */
	int (*make)(struct view_generator *generator, size_t number, char *bytes, size_t length,
		    const atomic_bool *stop);
	void (*release)(struct view_generator *generator);
};

/* Bytes of a view that lie in a file as they are, or that do not. */
struct extent {
	uint64_t length;
	struct backing *backing; /* borrowed, backing_is_plain(); NULL: they do not */
	uint64_t offset;	 /* in backing */
};

struct view; /* counted; immutable, any thread may use it */

/* A view of n segments in their order. owned, which may be NULL, is memory that segments point to:
 * it is the view's from then on and freed with it, also on failure. NULL: out of memory. */
struct view *view_new(const struct segment *segments, size_t n, void *owned);

/* The same with segments to be computed by generator, which becomes the view's, also on failure. */
struct view *view_new_computed(const struct segment *segments, size_t n, void *owned,
			       struct view_generator *generator);

/* A view of size bytes of text, which becomes the view's. NULL, as for no text: out of memory. */
struct view *view_of_text(char *text, size_t size);

/* The same of what was written to a stream of open_memstream(text, size), which is closed. */
struct view *view_of_stream(FILE *out, char **text, const size_t *size);

/* What a file under the view does not give any more (-EIO) is read from instead, which has the same
 * bytes and becomes the view's. To be called before another thread knows the view. */
void view_set_fallback(struct view *view, struct view *instead);

/* The segments that make up length bytes at offset, which are there, into segments, where that is
 * not NULL. Returns how many. They are good as long as the view. */
size_t view_segments(const struct view *view, uint64_t offset, uint64_t length,
		     struct segment *segments);

/* Have two views the same segments: equal memory, and the same extents of the same backings? Then
 * they have the same bytes; reads nothing. */
bool view_is_same(const struct view *a, const struct view *b);

/* The view's segments point into memory of other, of which it takes a reference. To be called
 * before another thread knows the view. */
void view_keep_alive(struct view *view, struct view *other);

struct view *view_ref(struct view *view);
void view_unref(struct view *view); /* NULL is fine */

uint64_t view_size(const struct view *view);

/* What begins at offset, as long as it is of one kind and, in a file, of one piece: never nothing.
 * False: the view ends there. */
bool view_extent(const struct view *view, uint64_t offset, struct extent *extent);

/* Are there bytes in it that have to be computed? */
bool view_is_computed(const struct view *view);

/* May a read of n bytes at offset take long, because some of them have to be computed, or all of a
 * file has to be looked at first? */
bool view_is_slow(const struct view *view, size_t n, uint64_t offset);

/* Does it read from a file that is computed, of other files that may lie anywhere? */
bool view_has_rows(const struct view *view, size_t n, uint64_t offset);

/* The first file that a read of n bytes at offset reads from, borrowed. NULL: there is none. */
struct backing *view_backing_at(const struct view *view, size_t n, uint64_t offset);

/* Up to n bytes at offset into bytes: fewer only at the view's end. Returns their number or -errno,
 * and never part of what was asked for when some of it cannot be read: -EIO for an extent, else as
 * its generator says. */
ssize_t view_read(struct view *view, void *bytes, size_t n, uint64_t offset);

/* The same, but when *stop becomes true it soon returns -EINTR. */
ssize_t view_read_cancellable(struct view *view, void *bytes, size_t n, uint64_t offset,
			      const atomic_bool *stop);

/* The same, with flags of enum backing_flags for the files under the view. */
ssize_t view_read_with(struct view *view, unsigned flags, void *bytes, size_t n, uint64_t offset,
		       const atomic_bool *stop);

/* For the parsers of gguf/: valid as long as the view. */
struct source view_source(struct view *view);

#endif
