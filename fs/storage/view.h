/* SPDX-License-Identifier: MIT */
/* view.h - the content of one file as a list of segments: memory, an extent of a file on disk,
 * zeros, or computed bytes. All files of a mount are read through views. */
#ifndef FS_STORAGE_VIEW_H
#define FS_STORAGE_VIEW_H

#include "gguf/cursor.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

enum segment_kind { SEGMENT_MEMORY, SEGMENT_EXTENT, SEGMENT_ZEROS, SEGMENT_COMPUTED };

struct layout;
struct piece;

struct segment {
	enum segment_kind kind;
	uint64_t length;
	const void *memory;	 /* SEGMENT_MEMORY: length bytes, valid as long as the view */
	struct backing *backing; /* SEGMENT_EXTENT: the view takes its own reference */
	uint64_t offset;	 /* SEGMENT_EXTENT: in backing */
};

/* Computes the segments of kind SEGMENT_COMPUTED, numbered from 0 in their order. Results are
 * deterministic. Threads may call it concurrently. Calls may take long, and return -EINTR soon
 * after *stop became true; stop may be NULL. Errors are -errno. */
struct view_generator {
	/* Called before segments first to first + n - 1 are computed; or NULL. */
	int (*prepare)(struct view_generator *generator, size_t first, size_t n,
		       const atomic_bool *stop);
	/* Compute all length bytes of one segment. */
	int (*make)(struct view_generator *generator, size_t number, char *bytes, size_t length,
		    const atomic_bool *stop);
	void (*release)(struct view_generator *generator);
};

/* A part of a view that lies uncompressed in one file, or in none. */
struct extent {
	uint64_t length;
	struct backing *backing; /* borrowed, backing_is_plain(); NULL: not in a file */
	uint64_t offset;	 /* in backing */
};

struct view; /* reference-counted, immutable; any thread may use it */

/* A view of n segments in their order. The view owns `owned`, memory that segments point to, also
 * on failure; owned may be NULL. NULL: out of memory. */
struct view *view_new(const struct segment *segments, size_t n, void *owned);

/* Segment of a layout's piece, which is at that offset of file if it is the base's or a graft's. */
struct segment segment_of_piece(const struct piece *piece, const struct layout *layout,
				struct backing *file, uint64_t offset);

/* view_new() with computed segments. The view owns the generator, also on failure. */
struct view *view_new_computed(const struct segment *segments, size_t n, void *owned,
			       struct view_generator *generator);

/* A view of size bytes of text, which the view owns. NULL: out of memory, or text is NULL. */
struct view *view_of_text(char *text, size_t size);

/* view_of_text() for a stream of open_memstream(text, size), which is closed. */
struct view *view_of_stream(FILE *out, char **text, const size_t *size);

/* Read from fallback, which has the same bytes and which the view owns, if a file under the view
 * fails with -EIO. Call before other threads know the view. */
void view_set_fallback(struct view *view, struct view *fallback);

/* Copy the segments of the length bytes at offset, which must exist, to segments, unless that is
 * NULL. Returns their number. The segments are valid as long as the view. */
size_t view_segments(const struct view *view, uint64_t offset, uint64_t length,
		     struct segment *segments);

/* Do two views consist of the same segments (equal memory, same extents of the same backings) and
 * therefore have the same bytes? Reads nothing. */
bool view_is_same(const struct view *a, const struct view *b);

/* Hold a reference of other, whose memory the segments use. Call before other threads know view. */
void view_keep_alive(struct view *view, struct view *other);

struct view *view_ref(struct view *view);
void view_unref(struct view *view); /* NULL is fine */

uint64_t view_size(const struct view *view);

/* The longest extent at offset that lies in one file, or in none. False: end of the view. */
bool view_extent(const struct view *view, uint64_t offset, struct extent *extent);

/* Does the view contain computed bytes? */
bool view_is_computed(const struct view *view);

/* Can a read of n bytes at offset take long, because bytes have to be computed or a file's hash has
 * to be verified first? */
bool view_is_slow(const struct view *view, size_t n, uint64_t offset);

/* Does such a read involve a file with computed rows, whose source files may lie anywhere? */
bool view_has_rows(const struct view *view, size_t n, uint64_t offset);

/* The first file of a read of n bytes at offset, borrowed. NULL: none. */
struct backing *view_backing_at(const struct view *view, size_t n, uint64_t offset);

/* Read up to n bytes at offset; fewer only at the end of the view. Returns their number, or -errno
 * if any of them cannot be read: -EIO for an extent, else the generator's error. */
ssize_t view_read(struct view *view, void *bytes, size_t n, uint64_t offset);

/* view_read() that returns -EINTR soon after *stop became true. */
ssize_t view_read_cancellable(struct view *view, void *bytes, size_t n, uint64_t offset,
			      const atomic_bool *stop);

/* view_read_cancellable() with flags of enum backing_flags. */
ssize_t view_read_with(struct view *view, unsigned flags, void *bytes, size_t n, uint64_t offset,
		       const atomic_bool *stop);

/* A source for the parsers of gguf/, valid as long as the view. */
struct source view_source(struct view *view);

#endif
