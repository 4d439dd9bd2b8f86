/* SPDX-License-Identifier: MIT */
/* fuzz_view.c - any list of segments (memory, a file, zeros, computed bytes) and any window of it:
 * the window equals that slice of one whole read, independently of earlier reads, and the view's
 * extents give the places of these bytes. */
#include "fs/storage/backing.h"
#include "fs/storage/view.h"
#include "fuzz_help.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SEGMENTS_MAX 40u
#define FILE_SIZE    5000u
#define WINDOWS	     24u

struct made {
	struct view_generator generator;
	unsigned prepared; /* number of preparations, which must not change any result */
};

static uint8_t computed_byte(size_t number, size_t at)
{
	return (uint8_t)(number * 31 + at * 7 + 1);
}

static int prepare(struct view_generator *generator, size_t first, size_t n,
		   const atomic_bool *stop)
{
	(void)first;
	(void)n;
	(void)stop;
	((struct made *)generator)->prepared++;
	return 0;
}

static int make(struct view_generator *generator, size_t number, char *bytes, size_t length,
		const atomic_bool *stop)
{
	(void)generator;
	(void)stop;
	for (size_t i = 0; i < length; i++)
		bytes[i] = (char)computed_byte(number, i);
	return 0;
}

static void release(struct view_generator *generator)
{
	free(generator);
}

static struct backing *open_file(uint8_t content[FILE_SIZE])
{
	const int fd = memfd_create("file", MFD_CLOEXEC);
	struct error err = { 0 };
	struct backing *file;

	for (size_t i = 0; i < FILE_SIZE; i++)
		content[i] = (uint8_t)(i * 13 + i / 256);
	require(fd >= 0 && pwrite(fd, content, FILE_SIZE, 0) == FILE_SIZE);
	file = backing_fdopen(fd, "/file", &err);
	require(file != NULL);
	return file;
}

/* Make a segment of every three bytes: kind, length, and offset in the file. Returns their number;
 * *size is their total length, *expected their content (caller frees). */
static size_t build(const uint8_t *data, size_t n, struct segment segments[SEGMENTS_MAX],
		    const uint8_t *content, struct backing *file, uint8_t **expected, size_t *size)
{
	uint8_t *bytes = calloc(SEGMENTS_MAX, FILE_SIZE);
	size_t count = 0, computed = 0, at = 0;

	require(bytes != NULL);
	for (; count < SEGMENTS_MAX && 3 * count + 3 <= n; count++) {
		const uint8_t *d = data + 3 * count;
		const size_t offset = d[2] * 19u % FILE_SIZE;
		const size_t length = d[1] < 200 ? d[1] : (d[1] - 199u) * 80;
		struct segment *s = &segments[count];

		*s = (struct segment){ .kind = (enum segment_kind)(d[0] & 3),
				       .length = length < FILE_SIZE - offset ? length
									     : FILE_SIZE - offset };
		if (s->kind == SEGMENT_MEMORY)
			s->memory = memcpy(bytes + at, content + offset, (size_t)s->length);
		if (s->kind == SEGMENT_EXTENT) {
			s->backing = file;
			s->offset = offset;
			memcpy(bytes + at, content + offset, (size_t)s->length);
		}
		for (size_t i = 0; s->kind == SEGMENT_COMPUTED && i < s->length; i++)
			bytes[at + i] = computed_byte(computed, i);
		computed += s->kind == SEGMENT_COMPUTED;
		at += (size_t)s->length;
	}
	*expected = bytes;
	*size = at;
	return count;
}

static void check_window(struct view *view, const uint8_t *expected, size_t size, size_t from,
			 size_t n)
{
	const size_t there = from < size ? size - from : 0, right = n < there ? n : there;
	uint8_t *bytes = malloc(n + 1);

	require(bytes && view_read(view, bytes, n, from) == (ssize_t)right);
	require(!right || memcmp(bytes, expected + from, right) == 0);
	free(bytes);
}

/* Check that extents are contiguous to the end, and that the file has their bytes. */
static void check_extents(const struct view *view, const uint8_t *expected, size_t size,
			  const uint8_t *content)
{
	struct extent extent;
	size_t at = 0;

	for (; view_extent(view, at, &extent); at += (size_t)extent.length) {
		require(extent.length > 0 && extent.length <= size - at);
		if (extent.backing)
			require(memcmp(expected + at, content + extent.offset,
				       (size_t)extent.length) == 0);
	}
	require(at == size);
}

static void check(struct view *view, const uint8_t *data, size_t n, const uint8_t *expected,
		  size_t size, const uint8_t *content)
{
	require(view_size(view) == size);
	for (size_t i = 0; i < WINDOWS && 4 * i + 4 <= n; i++) {
		const uint8_t *d = data + n - 4 * i - 4;

		check_window(view, expected, size, (size_t)(d[0] | d[1] << 8) % (size + 9),
			     (size_t)(d[2] | d[3] << 8));
	}
	check_window(view, expected, size, 0, size + 1);
	check_extents(view, expected, size, content);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct view_generator generator = { prepare, make, release };
	struct segment segments[SEGMENTS_MAX];
	struct made *made = calloc(1, sizeof(*made));
	uint8_t content[FILE_SIZE], *expected;
	struct backing *file = open_file(content);
	struct view *view;
	size_t length, n;

	require(made != NULL);
	made->generator = generator;
	n = build(data, size, segments, content, file, &expected, &length);
	view = view_new_computed(segments, n, NULL, &made->generator);
	require(view != NULL);
	check(view, data, size, expected, length, content);
	view_unref(view);
	backing_unref(file);
	free(expected);
	return 0;
}
