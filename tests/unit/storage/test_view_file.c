/* SPDX-License-Identifier: MIT */
/* test_view_file.c - fs/storage/view_file.c: views that are a file, byte for byte. */
#include "fs/storage/backing.h"
#include "fs/storage/view_file.h"
#include "tests/unit/small_gguf.h"

#define SIZE   4096
#define HEADER 50

struct scene {
	struct backing *file;
	char header[HEADER];
};

static struct scene open_scene(void **state)
{
	struct scene scene;
	uint8_t bytes[SIZE];

	for (size_t i = 0; i < SIZE; i++)
		bytes[i] = mk_byte(7, i);
	write_file(in_temp(state, "file").text, bytes, SIZE);
	memcpy(scene.header, bytes, HEADER);
	scene.file = backing_open(in_temp(state, "file").text, NULL);
	assert_non_null(scene.file);
	return scene;
}

/* Check that the view of n segments is the file, or is no file. */
static void assert_file_of(struct scene *scene, const struct segment *segments, size_t n, bool is)
{
	struct view *view = view_new(segments, n, NULL);

	assert_ptr_equal(view_file(view), is ? scene->file : NULL);
	view_unref(view);
}

static struct segment extent(struct scene *scene, uint64_t offset, uint64_t length)
{
	return (struct segment){
		.kind = SEGMENT_EXTENT, .length = length, .backing = scene->file, .offset = offset
	};
}

static struct segment memory(struct scene *scene, uint64_t length)
{
	return (struct segment){ .kind = SEGMENT_MEMORY,
				 .length = length,
				 .memory = scene->header };
}

static void view_of_a_whole_file_is_that_file(void **state)
{
	struct scene scene = open_scene(state);
	const struct segment whole = extent(&scene, 0, SIZE), less = extent(&scene, 0, SIZE - 1),
			     later = extent(&scene, 1, SIZE - 1);

	assert_file_of(&scene, &whole, 1, true);
	assert_file_of(&scene, &less, 1, false);
	assert_file_of(&scene, &later, 1, false);
	assert_file_of(&scene, NULL, 0, false);
	backing_unref(scene.file);
}

static void a_header_in_memory_has_to_be_the_one_of_the_file(void **state)
{
	struct scene scene = open_scene(state);
	struct segment segments[2] = { memory(&scene, HEADER),
				       extent(&scene, HEADER, SIZE - HEADER) };

	assert_file_of(&scene, segments, 2, true);
	scene.header[HEADER - 1] ^= 1;
	assert_file_of(&scene, segments, 2, false);
	backing_unref(scene.file);
}

static void bytes_at_other_places_are_no_file(void **state)
{
	struct scene scene = open_scene(state);
	const struct segment moved[2] = { memory(&scene, HEADER), extent(&scene, 0, SIZE) };
	const struct segment turned[2] = { extent(&scene, 0, SIZE - HEADER),
					   memory(&scene, HEADER) };
	const struct segment zeros[2] = { { .kind = SEGMENT_ZEROS, .length = HEADER },
					  extent(&scene, HEADER, SIZE - HEADER) };
	const struct segment more[3] = { memory(&scene, 10), extent(&scene, 10, 10),
					 extent(&scene, 20, SIZE - 20) };

	assert_file_of(&scene, moved, 2, false);
	assert_file_of(&scene, turned, 2, false);
	assert_file_of(&scene, zeros, 2, false);
	assert_file_of(&scene, more, 3, false);
	backing_unref(scene.file);
}

static void view_of_a_changed_file_is_no_file(void **state)
{
	struct scene scene = open_scene(state);
	const struct segment whole = extent(&scene, 0, SIZE);
	struct view *view = view_new(&whole, 1, NULL);

	assert_ptr_equal(view_file(view), scene.file);
	change_times(state, "file");
	assert_null(view_file(view));
	assert_true(view_file_is_likely(view)); /* independent of the change */
	view_unref(view);
	backing_unref(scene.file);
}

/* The daemon computes the hash at a read. */
static void view_is_no_file_before_its_hash_is_known(void **state)
{
	struct scene scene = open_scene(state);
	struct segment segments[2] = { memory(&scene, HEADER),
				       extent(&scene, HEADER, SIZE - HEADER) };
	uint8_t bytes[SIZE];
	char text[XXH128_TEXT];
	struct view *view;

	for (size_t i = 0; i < SIZE; i++)
		bytes[i] = mk_byte(7, i);
	xxh128_text(XXH3_128bits(bytes, SIZE), text);
	backing_expect_hash(scene.file, text);
	view = view_new(segments, 2, NULL);
	assert_true(view_file_is_likely(view));
	assert_null(view_file(view));
	assert_int_equal(backing_verify(scene.file, NULL), 0);
	assert_ptr_equal(view_file(view), scene.file);
	view_unref(view);
	backing_unref(scene.file);
}

static void without_memory_view_is_no_file(void **state)
{
	struct scene scene;
	struct segment segments[2];
	struct view *view;

	needs_failing_allocations();
	scene = open_scene(state);
	segments[0] = memory(&scene, HEADER);
	segments[1] = extent(&scene, HEADER, SIZE - HEADER);
	view = view_new(segments, 2, NULL);
	allocation_fails(1);
	assert_null(view_file(view));
	assert_true(allocation_failed());
	assert_ptr_equal(view_file(view), scene.file);
	view_unref(view);
	backing_unref(scene.file);
}

UNIT_MAIN(temp_setup, temp_teardown)
