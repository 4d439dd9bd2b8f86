/* SPDX-License-Identifier: MIT */
/* test_view_hash.c - fs/storage/view_hash.c: the hash of a view is the hash of its bytes, for any
 * length and segments. */
#include "fs/storage/backing.h"
#include "fs/storage/view.h"
#include "fs/storage/view_hash.h"
#include "tests/unit/small_gguf.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* More than one chunk, and not a multiple of it. */
#define LONG ((size_t)(1 << 20) + 4321)

static void hash_of_view_is_that_of_its_bytes(void **state)
{
	uint8_t *bytes = calloc(1, LONG);
	char expected[XXH128_TEXT], text[XXH128_TEXT];
	struct segment segments[2] = { { .kind = SEGMENT_MEMORY, .length = LONG / 2 },
				       { .kind = SEGMENT_ZEROS, .length = LONG - LONG / 2 } };
	struct view *view;

	(void)state;
	assert_non_null(bytes);
	for (size_t i = 0; i < LONG / 2; i++)
		bytes[i] = mk_byte(5, i);
	segments[0].memory = bytes;
	view = view_new(segments, 2, NULL);
	assert_int_equal(view_hash(view, NULL, text), 0);
	xxh128_text(XXH3_128bits(bytes, LONG), expected);
	assert_string_equal(text, expected);
	view_unref(view);
	free(bytes);
}

static void hash_of_empty_view_is_that_of_no_bytes(void **state)
{
	char expected[XXH128_TEXT], text[XXH128_TEXT];
	struct view *view = view_new(NULL, 0, NULL);

	(void)state;
	assert_int_equal(view_hash(view, NULL, text), 0);
	xxh128_text(XXH3_128bits("", 0), expected);
	assert_string_equal(text, expected);
	view_unref(view);
}

static void view_of_truncated_file_has_no_hash(void **state)
{
	struct segment segment = { .kind = SEGMENT_EXTENT, .length = 8 };
	char text[XXH128_TEXT];
	struct view *view;

	write_file(in_temp(state, "file").text, "12345678", 8);
	segment.backing = backing_open(in_temp(state, "file").text, NULL);
	view = view_new(&segment, 1, NULL);
	backing_unref(segment.backing);
	assert_int_equal(truncate(in_temp(state, "file").text, 4), 0);
	assert_int_equal(view_hash(view, NULL, text), -EIO);
	view_unref(view);
}

UNIT_MAIN(temp_setup, temp_teardown)
