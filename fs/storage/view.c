/* SPDX-License-Identifier: MIT */
/* view.c - see view.h. */
#include "fs/storage/view.h"
#include "fs/storage/backing.h"
#include "gguf/layout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct view {
	atomic_uint refs;
	void *owned;
	struct view_generator *generator; /* NULL: no computed segments */
	struct view *fallback;		  /* see view_set_fallback(); NULL: none */
	struct view *other;		  /* owner of memory in this view's segments; NULL: none */
	uint64_t size;
	size_t n;
	struct view_piece {
		uint64_t start;	 /* offset in the view */
		size_t computed; /* number of computed segments before it */
		struct segment segment;
	} pieces[];
};

static void release_parts(void *owned, struct view_generator *generator)
{
	free(owned);
	if (generator)
		generator->release(generator);
}

struct view *view_new_computed(const struct segment *segments, size_t n, void *owned,
			       struct view_generator *generator)
{
	struct view *view = NULL;
	size_t computed = 0;

	if (n <= (SIZE_MAX - sizeof(*view)) / sizeof(view->pieces[0]))
		view = calloc(1, sizeof(*view) + n * sizeof(view->pieces[0]));
	if (!view) {
		release_parts(owned, generator);
		return NULL;
	}
	atomic_init(&view->refs, 1);
	view->owned = owned;
	view->generator = generator;
	view->n = n;
	for (size_t i = 0; i < n; i++) {
		view->pieces[i].start = view->size;
		view->pieces[i].computed = computed;
		view->pieces[i].segment = segments[i];
		view->size += segments[i].length;
		computed += segments[i].kind == SEGMENT_COMPUTED;
		if (segments[i].kind == SEGMENT_EXTENT)
			backing_ref(segments[i].backing);
	}
	return view;
}

struct view *view_new(const struct segment *segments, size_t n, void *owned)
{
	return view_new_computed(segments, n, owned, NULL);
}

struct segment segment_of_piece(const struct piece *piece, const struct layout *layout,
				struct backing *file, uint64_t offset)
{
	struct segment segment = { .kind = SEGMENT_EXTENT, .length = piece->length };

	if (piece->kind == PIECE_ZEROS) {
		segment.kind = SEGMENT_ZEROS;
	} else if (piece->kind == PIECE_HEADER) {
		segment.kind = SEGMENT_MEMORY;
		segment.memory = layout->header + piece->offset;
	} else {
		segment.backing = file;
		segment.offset = offset;
	}
	return segment;
}

struct view *view_of_text(char *text, size_t size)
{
	const struct segment segment = { .kind = SEGMENT_MEMORY, .length = size, .memory = text };

	return text ? view_new(&segment, 1, text) : NULL;
}

struct view *view_of_stream(FILE *out, char **text, const size_t *size)
{
	if (fclose(out) == 0)
		return view_of_text(*text, *size);
	free(*text);
	return NULL;
}

void view_set_fallback(struct view *view, struct view *fallback)
{
	view->fallback = fallback;
}

void view_keep_alive(struct view *view, struct view *other)
{
	view->other = view_ref(other);
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
	release_parts(view->owned, view->generator);
	view_unref(view->fallback);
	view_unref(view->other);
	free(view);
}

uint64_t view_size(const struct view *view)
{
	return view->size;
}

bool view_is_computed(const struct view *view)
{
	return view->generator != NULL;
}

/* Index of the last segment that begins at or before offset. */
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

/* The part of a segment after its first `skip` bytes that lies in one file or in none. */
static struct extent extent_of(const struct segment *segment, uint64_t skip)
{
	struct extent extent = { .length = segment->length - skip };
	uint64_t offset = segment->offset + skip;
	struct backing *file = NULL;

	if (segment->kind == SEGMENT_EXTENT)
		file = backing_file_at(segment->backing, &offset, &extent.length);
	if (file && backing_is_plain(file)) {
		extent.backing = file;
		extent.offset = offset;
	}
	return extent;
}

static bool continues(const struct extent *extent, const struct extent *next)
{
	return next->backing == extent->backing &&
	       (!next->backing || next->offset == extent->offset + extent->length);
}

bool view_extent(const struct view *view, uint64_t offset, struct extent *extent)
{
	size_t i;

	if (offset >= view->size)
		return false;
	i = find_piece(view, offset);
	*extent = extent_of(&view->pieces[i].segment, offset - view->pieces[i].start);
	for (uint64_t at = offset + extent->length; at < view->size;) {
		struct extent next;

		while (view->pieces[i].start + view->pieces[i].segment.length <= at)
			i++;
		next = extent_of(&view->pieces[i].segment, at - view->pieces[i].start);
		if (!continues(extent, &next))
			break;
		extent->length += next.length;
		at += next.length;
	}
	return true;
}

size_t view_segments(const struct view *view, uint64_t offset, uint64_t length,
		     struct segment *segments)
{
	const uint64_t end = offset + length;
	size_t n = 0;

	for (size_t i = find_piece(view, offset); i < view->n && view->pieces[i].start < end; i++) {
		const struct view_piece *piece = &view->pieces[i];
		const uint64_t skip = offset > piece->start ? offset - piece->start : 0;
		uint64_t left = piece->segment.length - skip;

		if (piece->segment.length <= skip)
			continue;
		if (left > end - piece->start - skip)
			left = end - piece->start - skip;
		if (segments) {
			segments[n] = piece->segment;
			segments[n].length = left;
			if (piece->segment.kind == SEGMENT_EXTENT)
				segments[n].offset += skip;
			else if (piece->segment.kind == SEGMENT_MEMORY)
				segments[n].memory = (const char *)piece->segment.memory + skip;
		}
		n++;
	}
	return n;
}

static bool is_same_segment(const struct segment *a, const struct segment *b)
{
	if (a->kind != b->kind || a->length != b->length)
		return false;
	switch (a->kind) {
	case SEGMENT_MEMORY:
		return a->length == 0 || memcmp(a->memory, b->memory, a->length) == 0;
	case SEGMENT_EXTENT:
		return a->backing == b->backing && a->offset == b->offset;
	case SEGMENT_ZEROS:
		return true;
	case SEGMENT_COMPUTED:
		break;
	}
	return false;
}

bool view_is_same(const struct view *a, const struct view *b)
{
	bool same = a->n == b->n;

	for (size_t i = 0; same && i < a->n; i++)
		same = is_same_segment(&a->pieces[i].segment, &b->pieces[i].segment);
	return same;
}

/* Does piece i begin before the end of n bytes at offset? */
static bool is_within(const struct view *view, size_t i, size_t n, uint64_t offset)
{
	return i < view->n &&
	       (view->pieces[i].start < offset || view->pieces[i].start - offset < n);
}

bool view_is_slow(const struct view *view, size_t n, uint64_t offset)
{
	bool slow = view->generator != NULL;

	for (size_t i = find_piece(view, offset); !slow && is_within(view, i, n, offset); i++) {
		const struct segment *segment = &view->pieces[i].segment;

		slow = segment->kind == SEGMENT_EXTENT &&
		       (backing_is_unverified(segment->backing) ||
			backing_is_computed(segment->backing));
	}
	return slow;
}

bool view_has_rows(const struct view *view, size_t n, uint64_t offset)
{
	bool has = false;

	for (size_t i = find_piece(view, offset); !has && is_within(view, i, n, offset); i++) {
		const struct segment *segment = &view->pieces[i].segment;

		has = segment->kind == SEGMENT_EXTENT && backing_is_computed(segment->backing);
	}
	return has;
}

struct backing *view_backing_at(const struct view *view, size_t n, uint64_t offset)
{
	for (size_t i = find_piece(view, offset); is_within(view, i, n, offset); i++) {
		const struct view_piece *piece = &view->pieces[i];

		if (piece->segment.kind == SEGMENT_EXTENT &&
		    piece->start + piece->segment.length > offset)
			return piece->segment.backing;
	}
	return NULL;
}

/* The generator makes whole segments only. */
static int read_computed(struct view *view, const struct view_piece *piece, char *bytes, size_t n,
			 uint64_t offset, const atomic_bool *stop)
{
	const size_t length = (size_t)piece->segment.length;
	char *whole;
	int rc;

	if (n == length)
		return view->generator->make(view->generator, piece->computed, bytes, length, stop);
	whole = malloc(length);
	if (!whole)
		return -ENOMEM;
	rc = view->generator->make(view->generator, piece->computed, whole, length, stop);
	if (rc == 0)
		memcpy(bytes, whole + offset, n);
	free(whole);
	return rc;
}

static int read_piece(struct view *view, unsigned flags, const struct view_piece *piece,
		      char *bytes, size_t n, uint64_t offset, const atomic_bool *stop)
{
	const struct segment *segment = &piece->segment;

	switch (segment->kind) {
	case SEGMENT_MEMORY:
		memcpy(bytes, (const char *)segment->memory + offset, n);
		return 0;
	case SEGMENT_ZEROS:
		memset(bytes, 0, n);
		return 0;
	case SEGMENT_COMPUTED:
		return read_computed(view, piece, bytes, n, offset, stop);
	case SEGMENT_EXTENT:
		break;
	}
	return backing_read_cancellable(segment->backing, flags, bytes, n, segment->offset + offset,
					stop);
}

/* Announce the computed segments of a read to the generator. */
static int prepare(struct view *view, size_t first, uint64_t end, const atomic_bool *stop)
{
	size_t computed = 0;

	for (size_t i = first; i < view->n && view->pieces[i].start < end; i++)
		computed += view->pieces[i].segment.kind == SEGMENT_COMPUTED;
	if (!computed || !view->generator->prepare)
		return 0;
	return view->generator->prepare(view->generator, view->pieces[first].computed, computed,
					stop);
}

ssize_t view_read_with(struct view *view, unsigned flags, void *bytes, size_t n, uint64_t offset,
		       const atomic_bool *stop)
{
	size_t first, done = 0;
	int rc = 0;

	if (n == 0 || offset >= view->size)
		return 0;
	if (n > view->size - offset)
		n = (size_t)(view->size - offset);
	first = find_piece(view, offset);
	if (view->generator)
		rc = prepare(view, first, offset + n, stop);
	for (size_t i = first; rc == 0 && done < n; i++) {
		const struct view_piece *piece = &view->pieces[i];
		const uint64_t skip = offset + done - piece->start;
		size_t part = n - done;

		if (part > piece->segment.length - skip)
			part = (size_t)(piece->segment.length - skip);
		if (part)
			rc = read_piece(view, flags, piece, (char *)bytes + done, part, skip, stop);
		done += part;
	}
	if (rc == -EIO && view->fallback)
		return view_read_with(view->fallback, flags, bytes, n, offset, stop);
	return rc < 0 ? rc : (ssize_t)n;
}

ssize_t view_read_cancellable(struct view *view, void *bytes, size_t n, uint64_t offset,
			      const atomic_bool *stop)
{
	return view_read_with(view, 0, bytes, n, offset, stop);
}

ssize_t view_read(struct view *view, void *bytes, size_t n, uint64_t offset)
{
	return view_read_cancellable(view, bytes, n, offset, NULL);
}

static int source_read_at(void *context, void *bytes, size_t n, uint64_t offset)
{
	const ssize_t got = view_read(context, bytes, n, offset);

	return got < 0 ? (int)got : (size_t)got == n ? 0 : -EIO;
}

struct source view_source(struct view *view)
{
	return (struct source){ source_read_at, view, view->size };
}
