/* SPDX-License-Identifier: MIT */
/* view.h - the content of one file: a list of segments, each memory, an extent of a file on disk,
 * or zeros. Every file of a mount is read through a view, by one routine (design, section 9). */
#ifndef FS_VIEW_H
#define FS_VIEW_H

#include "fs/backing.h"

#include <sys/types.h>

enum segment_kind { SEGMENT_MEMORY, SEGMENT_EXTENT, SEGMENT_ZEROS };

struct segment {
	enum segment_kind kind;
	uint64_t length;
	const void *memory;	 /* SEGMENT_MEMORY: length bytes, alive as long as the view */
	struct backing *backing; /* SEGMENT_EXTENT: the view takes a reference of its own */
	uint64_t offset;	 /* SEGMENT_EXTENT: in backing */
};

struct view; /* counted; immutable, any thread may use it */

/* A view of n segments in their order. owned, which may be NULL, is memory that segments point to:
 * it is the view's from then on and freed with it, also on failure. NULL: out of memory. */
struct view *view_new(const struct segment *segments, size_t n, void *owned);

/* A view of size bytes of text, which becomes the view's. NULL, as for no text: out of memory. */
struct view *view_of_text(char *text, size_t size);

struct view *view_ref(struct view *view);
void view_unref(struct view *view); /* NULL is fine */

uint64_t view_size(const struct view *view);

/* Up to n bytes at offset into bytes: fewer only at the view's end. Returns their number or -EIO,
 * and never part of what was asked for when some of it cannot be read. */
ssize_t view_read(struct view *view, void *bytes, size_t n, uint64_t offset);

#endif
