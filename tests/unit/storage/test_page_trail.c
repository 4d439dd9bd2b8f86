/* SPDX-License-Identifier: MIT */
/* test_page_trail.c - fs/storage/page_trail.c: a reader leaves no pages in the cache. */
#include "fs/storage/backing.h"
#include "fs/storage/page_cache.h"
#include "fs/storage/page_trail.h"
#include "fs/storage/view.h"
#include "tests/unit/resident.h"

#include <pthread.h>

#define PAGE ((size_t)4096)
#define SIZE ((size_t)64 << 20)
#define PART ((size_t)128 << 10)

/* Maximum read-ahead of the kernel for common disks. */
#define AHEAD ((size_t)16 << 20)

struct reader {
	struct path path;
	struct backing *backing;
	struct view *view;
	struct page_trail *trail;
};

static struct backing *open_base_file(const struct path *path)
{
	struct backing *file = backing_open(path->text, NULL);

	assert_non_null(file);
	backing_set_passing(file);
	backing_announce(file, FILE_USE_BASE);
	return file;
}

/* Open a reader of a view of 100 bytes of memory and the file from byte 50 on. */
static struct reader open_reader(void **state)
{
	static const char memory[100];
	struct reader reader = { .path = in_temp(state, "file") };
	struct segment segments[2] = {
		{ .kind = SEGMENT_MEMORY, .length = 100, .memory = memory },
		{ .kind = SEGMENT_EXTENT, .length = SIZE - 50, .offset = 50 },
	};

	write_pages(reader.path.text, SIZE);
	reader.backing = segments[1].backing = open_base_file(&reader.path);
	reader.view = view_new(segments, 2, NULL);
	assert_non_null(reader.view);
	reader.trail = page_trail_new(reader.view);
	assert_non_null(reader.trail);
	return reader;
}

static void close_reader(struct reader *reader)
{
	page_trail_unref(reader->trail);
	view_unref(reader->view);
	backing_unref(reader->backing);
}

static void read_part(struct reader *reader, uint64_t offset)
{
	static uint8_t bytes[PART];
	const unsigned flags = page_trail_begin(reader->trail, PART, offset, false);
	ssize_t got;

	assert_true(flags & BACKING_PASSING);
	got = view_read_with(reader->view, flags, bytes, PART, offset, NULL);
	assert_true(got > 0);
	for (size_t i = offset < 100 ? (size_t)(100 - offset) : 0; i < (size_t)got; i += 97)
		assert_int_equal(bytes[i], PAGES_BYTE(offset + i - 50));
	page_trail_done(reader->trail, offset);
	page_trail_move(page_trail_ref(reader->trail));
}

static void full_read_leaves_earlier_pages(void **state)
{
	struct reader reader = open_reader(state);
	const uint64_t size = view_size(reader.view);

	touch_pages(reader.path.text, 1000, 3);
	for (uint64_t at = 0; at < size; at += PART) {
		read_part(&reader, at);
		/* The reader drops pages behind itself, not at the end. */
		assert_between(resident_in(reader.path.text), 0, 3 * AHEAD / PAGE - PART / PAGE);
	}
	close_reader(&reader);
	assert_int_equal(resident_pages(reader.path.text, 1000, 3), 3);
	assert_int_equal(resident_in(reader.path.text), 3);
}

static void requests_are_taken_in_any_order(void **state)
{
	struct reader reader = open_reader(state);

	for (uint64_t at = 0; at + 2 * PART <= SIZE; at += 2 * PART) {
		if (at)
			read_part(&reader, at + PART);
		read_part(&reader, at);
		if (!at)
			read_part(&reader, at + PART);
	}
	close_reader(&reader);
	assert_int_equal(resident_in(reader.path.text), 0);
}

static void a_reader_of_the_beginning_leaves_nothing_that_was_read_ahead(void **state)
{
	struct reader reader = open_reader(state);

	for (uint64_t at = 0; at < 8 * PART; at += PART)
		read_part(&reader, at);
	assert_ptr_equal(page_trail_file(reader.trail), reader.backing);
	close_reader(&reader);
	assert_int_equal(resident_in(reader.path.text), 0);
}

static void random_reader_causes_no_read_ahead(void **state)
{
	struct reader reader = open_reader(state);

	for (uint64_t at = 400 * PART; at >= 80 * PART; at -= 80 * PART) {
		read_part(&reader, at);
		assert_null(page_trail_file(reader.trail));
		assert_int_equal(resident_in(reader.path.text), 0);
	}
	/* The read continues the last one, so the kernel reads ahead. */
	read_part(&reader, 81 * PART);
	assert_non_null(page_trail_file(reader.trail));
	for (uint64_t at = 0; at < 4; at++) {
		read_part(&reader, (100 * at) * PART);
		read_part(&reader, (100 * at + 1) * PART);
	}
	close_reader(&reader);
	assert_int_equal(resident_in(reader.path.text), 0);
}

/* The places are near each other, in no order. */
static void jump_nearby_is_not_sequential(void **state)
{
	static const uint64_t places[] = { 200, 170, 190, 160, 220, 219, 180 };
	struct reader reader = open_reader(state);

	for (size_t i = 0; i < ARRAY_LENGTH(places); i++) {
		read_part(&reader, places[i] * PART);
		assert_null(page_trail_file(reader.trail));
	}
	/* A request overtakes the one before it. */
	read_part(&reader, 300 * PART);
	assert_null(page_trail_file(reader.trail));
	read_part(&reader, 302 * PART);
	assert_non_null(page_trail_file(reader.trail));
	close_reader(&reader);
	assert_int_equal(resident_in(reader.path.text), 0);
}

/* The file is an organ within a model: the kernel reads ahead beyond the organ, and its folios do
 * not end at windows. */
static void part_of_a_file_leaves_no_pages(void **state)
{
	struct reader reader = { .path = in_temp(state, "file") };
	struct segment segment = { .kind = SEGMENT_EXTENT,
				   .length = 300 * PART,
				   .offset = 5 * PAGE + 50 };

	write_pages(reader.path.text, SIZE);
	reader.backing = segment.backing = open_base_file(&reader.path);
	reader.view = view_new(&segment, 1, NULL);
	assert_non_null(reader.view);
	reader.trail = page_trail_new(reader.view);
	assert_non_null(reader.trail);
	for (uint64_t at = 0; at < segment.length; at += PART) {
		static uint8_t bytes[PART];
		const unsigned flags = page_trail_begin(reader.trail, PART, at, false);

		assert_int_equal(view_read_with(reader.view, flags, bytes, PART, at, NULL), PART);
		assert_int_equal(bytes[0], PAGES_BYTE(at + segment.offset));
		page_trail_done(reader.trail, at);
		page_trail_move(page_trail_ref(reader.trail));
	}
	close_reader(&reader);
	assert_int_equal(resident_in(reader.path.text), 0);
}

#define FILES 48

static void many_small_files_leave_no_pages(void **state)
{
	struct segment segments[FILES];
	struct path paths[FILES];
	struct reader reader;

	for (size_t i = 0; i < FILES; i++) {
		char name[16];

		snprintf(name, sizeof(name), "file%zu", i);
		paths[i] = in_temp(state, name);
		write_pages(paths[i].text, 2 * PART);
		segments[i] = (struct segment){ .kind = SEGMENT_EXTENT,
						.length = 2 * PART,
						.backing = open_base_file(&paths[i]) };
	}
	reader.view = view_new(segments, FILES, NULL);
	assert_non_null(reader.view);
	reader.trail = page_trail_new(reader.view);
	assert_non_null(reader.trail);
	for (uint64_t at = 0; at < view_size(reader.view); at += PART) {
		static uint8_t bytes[PART];
		const unsigned flags = page_trail_begin(reader.trail, PART, at, false);

		assert_int_equal(view_read_with(reader.view, flags, bytes, PART, at, NULL), PART);
		assert_int_equal(bytes[0], PAGES_BYTE(at % (2 * PART)));
		page_trail_done(reader.trail, at);
		page_trail_move(page_trail_ref(reader.trail));
	}
	page_trail_unref(reader.trail);
	view_unref(reader.view);
	for (size_t i = 0; i < FILES; i++) {
		backing_unref(segments[i].backing);
		assert_int_equal(resident_in(paths[i].text), 0);
	}
}

static void beyond_the_end_of_a_view_nothing_is_read_ahead(void **state)
{
	struct reader reader = { .path = in_temp(state, "file") };
	struct segment segment = { .kind = SEGMENT_EXTENT, .length = 32 * PART, .offset = 50 };

	write_pages(reader.path.text, SIZE);
	reader.backing = segment.backing = open_base_file(&reader.path);
	reader.view = view_new(&segment, 1, NULL);
	assert_non_null(reader.view);
	reader.trail = page_trail_new(reader.view);
	assert_non_null(reader.trail);
	for (uint64_t at = 0; at < 32 * PART; at += PART) {
		static uint8_t bytes[PART];
		const unsigned flags = page_trail_begin(reader.trail, PART, at, false);

		assert_int_equal(view_read_with(reader.view, flags, bytes, PART, at, NULL), PART);
		assert_int_equal(bytes[0], PAGES_BYTE(at + 50));
		page_trail_done(reader.trail, at);
		page_trail_move(page_trail_ref(reader.trail));
	}
	assert_ptr_equal(page_trail_file(reader.trail), reader.backing);
	assert_int_equal(resident_pages(reader.path.text, 32 * PART / PAGE + 1,
					SIZE / PAGE - 32 * PART / PAGE - 1),
			 0);
	close_reader(&reader);
	assert_int_equal(resident_in(reader.path.text), 0);
}

/* Single pages that the kernel may take meanwhile. */
#define TAKEN 64

static void pages_present_before_are_kept(void **state)
{
	struct reader reader = open_reader(state);
	size_t before;

	touch_pages(reader.path.text, 0, SIZE / PAGE);
	before = resident_in(reader.path.text);
	for (uint64_t at = 0; at < view_size(reader.view); at += PART)
		read_part(&reader, at);
	close_reader(&reader);
	assert_between(resident_in(reader.path.text), before - TAKEN, before);
}

static void pages_used_by_another_mount_are_kept(void **state)
{
	struct reader reader = open_reader(state);
	struct backing *other = open_base_file(&reader.path);

	for (uint64_t at = 0; at < view_size(reader.view); at += PART)
		read_part(&reader, at);
	close_reader(&reader);
	backing_unref(other);
	assert_between(resident_in(reader.path.text), SIZE / PAGE - TAKEN, SIZE / PAGE);
}

/* Pages of a layer's file and of a donor stay, and one descriptor will do. */
static void pages_of_other_files_are_kept(void **state)
{
	static uint8_t bytes[16 * PART];
	const struct path path = in_temp(state, "file");
	struct page_range range;
	struct backing *file;
	int next;

	write_pages(path.text, sizeof(bytes));
	file = backing_open(path.text, NULL);
	assert_non_null(file);
	next = dup(0);
	must(next >= 0 && close(next) == 0);
	assert_int_equal(backing_absent(file, 0, sizeof(bytes), &range, 1), 0);
	assert_int_equal(backing_read_with(file, BACKING_PASSING | BACKING_SPANS, bytes,
					   sizeof(bytes), 0),
			 0);
	assert_int_equal(resident_in(path.text), sizeof(bytes) / PAGE);
	assert_int_equal(dup(0), next);
	close(next);
	backing_unref(file);
}

struct racer {
	struct reader *reader;
	atomic_uint_fast64_t *next;
};

static void *read_some(void *argument)
{
	const struct racer *racer = argument;
	static _Thread_local uint8_t bytes[PART];
	uint64_t at;

	while ((at = atomic_fetch_add(racer->next, PART)) < SIZE) {
		const unsigned flags = page_trail_begin(racer->reader->trail, PART, at, false);

		must(view_read_with(racer->reader->view, flags, bytes, PART, at, NULL) > 0);
		must(at < 100 || bytes[0] == PAGES_BYTE(at - 50));
		page_trail_done(racer->reader->trail, at);
		page_trail_move(page_trail_ref(racer->reader->trail));
	}
	return NULL;
}

static void threads_of_one_reader_leave_hardly_anything(void **state)
{
	struct reader reader = open_reader(state);
	atomic_uint_fast64_t next = 0;
	struct racer racer = { &reader, &next };
	pthread_t threads[4];

	for (size_t i = 0; i < ARRAY_LENGTH(threads); i++)
		must(pthread_create(&threads[i], NULL, read_some, &racer) == 0);
	for (size_t i = 0; i < ARRAY_LENGTH(threads); i++)
		pthread_join(threads[i], NULL);
	close_reader(&reader);
	/* A delayed thread looks like a reader that continues elsewhere. */
	assert_between(resident_in(reader.path.text), 0, AHEAD / PAGE);
}

static void small_files_and_reads_past_end_have_no_trail(void **state)
{
	char *text = calloc(1, 100);
	struct view *small = view_of_text(text, 100);
	struct reader reader = open_reader(state);

	assert_null(page_trail_new(small));
	assert_int_equal(page_trail_begin(NULL, 1, 0, false), BACKING_PASSING | BACKING_SPANS);
	page_trail_done(NULL, 0);
	page_trail_move(page_trail_ref(NULL));
	assert_null(page_trail_file(NULL));
	page_trail_unref(NULL);
	page_trail_begin(reader.trail, SIZE_MAX, view_size(reader.view), false);
	page_trail_begin(reader.trail, 1, UINT64_MAX, false);
	page_trail_begin(reader.trail, SIZE_MAX, view_size(reader.view) - 1, false);
	assert_null(page_trail_file(reader.trail));
	view_unref(small);
	close_reader(&reader);
}

static void without_memory_there_is_no_trail(void **state)
{
	struct reader reader;

	needs_failing_allocations();
	reader = open_reader(state);
	allocation_fails(1);
	assert_null(page_trail_new(reader.view));
	assert_true(allocation_failed());
	close_reader(&reader);
}

UNIT_MAIN(temp_setup, temp_teardown)
