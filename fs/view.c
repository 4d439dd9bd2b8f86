/* SPDX-License-Identifier: MIT */
/* view.c - see view.h. */
#include "fs/view.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct view {
	atomic_uint refs;
	void *owned;
	uint64_t size;
	size_t n;
	struct piece {
		uint64_t start; /* in the view */
		struct segment segment;
	} pieces[];
};

struct view *view_new(const struct segment *segments, size_t n, void *owned)
{
	struct view *view;

	if (n > (SIZE_MAX - sizeof(*view)) / sizeof(view->pieces[0])) {
		free(owned);
		return NULL;
	}
	view = malloc(sizeof(*view) + n * sizeof(view->pieces[0]));
	if (!view) {
		free(owned);
		return NULL;
	}
	atomic_init(&view->refs, 1);
	view->owned = owned;
	view->size = 0;
	view->n = n;
	for (size_t i = 0; i < n; i++) {
		view->pieces[i].start = view->size;
		view->pieces[i].segment = segments[i];
		view->size += segments[i].length;
		if (segments[i].kind == SEGMENT_EXTENT)
			backing_ref(segments[i].backing);
	}
	return view;
}

struct view *view_of_text(char *text, size_t size)
{
	const struct segment segment = { .kind = SEGMENT_MEMORY, .length = size, .memory = text };

	return text ? view_new(&segment, 1, text) : NULL;
}

struct view *view_ref(struct view *view)
{
	atomic_fetch_add(&view->refs, 1);
	return view;
}

void view_unref(struct view *view)
{
	if (!view || atomic_fetch_sub(&view->refs, 1) != 1)
		return;
	for (size_t i = 0; i < view->n; i++)
		if (view->pieces[i].segment.kind == SEGMENT_EXTENT)
			backing_unref(view->pieces[i].segment.backing);
	free(view->owned);
	free(view);
}

uint64_t view_size(const struct view *view)
{
	return view->size;
}

/* The last segment that begins at or before offset. */
static size_t find_piece(const struct view *view, uint64_t offset)
{
	size_t low = 0, high = view->n;

	while (high - low > 1) {
		const size_t middle = low + (high - low) / 2;

		if (view->pieces[middle].start <= offset)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static int read_segment(const struct segment *segment, void *bytes, size_t n, uint64_t offset)
{
	switch (segment->kind) {
	case SEGMENT_MEMORY:
		memcpy(bytes, (const char *)segment->memory + offset, n);
		return 0;
	case SEGMENT_ZEROS:
		memset(bytes, 0, n);
		return 0;
	case SEGMENT_EXTENT:
		break;
	}
	return backing_read(segment->backing, bytes, n, segment->offset + offset);
}

ssize_t view_read(struct view *view, void *bytes, size_t n, uint64_t offset)
{
	size_t done = 0;

	if (offset >= view->size)
		return 0;
	if (n > view->size - offset)
		n = (size_t)(view->size - offset);
	for (size_t i = find_piece(view, offset); done < n; i++) {
		const struct segment *segment = &view->pieces[i].segment;
		const uint64_t skip = offset + done - view->pieces[i].start;
		size_t part = n - done;

		if (part > segment->length - skip)
			part = (size_t)(segment->length - skip);
		if (part && read_segment(segment, (char *)bytes + done, part, skip) < 0)
			return -EIO;
		done += part;
	}
	return (ssize_t)n;
}
