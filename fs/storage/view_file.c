/* SPDX-License-Identifier: MIT */
/* view_file.c - see view_file.h. */
#include "fs/storage/view_file.h"
#include "fs/storage/backing.h"
#include "fs/storage/view.h"

#include <stdlib.h>
#include <string.h>

/* larger headers are not compared, since that costs a read for each open() */
#define HEADER_MAX ((uint64_t)1 << 20)

/* an extent, or bytes in memory and an extent */
#define SEGMENTS_MAX 2

static bool is_header(struct backing *file, const struct segment *segment)
{
	char *bytes;
	bool same;

	if (segment->length > HEADER_MAX)
		return false;
	bytes = malloc(segment->length + 1);
	same = bytes && backing_read(file, bytes, segment->length, 0) == 0 &&
	       memcmp(bytes, segment->memory, segment->length) == 0;
	free(bytes);
	return same;
}

/* The file that ends with the segment's extent and has it at the same offset as the view. */
static struct backing *file_of(const struct segment *segment, uint64_t start)
{
	uint64_t offset = segment->offset, length = segment->length;
	struct backing *file;

	if (segment->kind != SEGMENT_EXTENT)
		return NULL;
	file = backing_file_at(segment->backing, &offset, &length);
	return file && backing_is_plain(file) && offset == start && length == segment->length &&
			       backing_size(file) == start + segment->length
		       ? file
		       : NULL;
}

/* Get segments and file of a view that may equal a file. Returns the number of segments, or 0. */
static size_t find_segments(const struct view *view, struct segment segments[SEGMENTS_MAX],
			    struct backing **file)
{
	const uint64_t size = view_size(view);
	const size_t n = size ? view_segments(view, 0, size, NULL) : 0;

	if (n == 0 || n > SEGMENTS_MAX)
		return 0;
	view_segments(view, 0, size, segments);
	if (n == 2 && segments[0].kind != SEGMENT_MEMORY)
		return 0;
	*file = file_of(&segments[n - 1], size - segments[n - 1].length);
	return *file ? n : 0;
}

bool view_file_is_likely(const struct view *view)
{
	struct segment segments[SEGMENTS_MAX];
	struct backing *file;

	return find_segments(view, segments, &file) > 0;
}

struct backing *view_file(struct view *view)
{
	struct segment segments[SEGMENTS_MAX];
	struct backing *file;
	const size_t n = find_segments(view, segments, &file);

	if (n == 0 || backing_is_unverified(segments[n - 1].backing) ||
	    backing_is_unverified(file) || (n == 2 && !is_header(file, &segments[0])))
		return NULL;
	return backing_check(file) == 0 ? file : NULL;
}
