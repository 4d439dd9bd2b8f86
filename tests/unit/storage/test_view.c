/* SPDX-License-Identifier: MIT */
/* test_view.c - fs/storage/view.c: any window of any list of segments, reads after a change of a
 * file below, and requests to a generator. */
#include "fs/storage/backing.h"
#include "fs/storage/view.h"
#include "tests/unit/small_gguf.h"

/* A small random generator, so that every run tests the same lists. */
static uint32_t next(uint32_t *seed, uint32_t below)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (*seed >> 8) % below;
}

#define FILE_SIZE 4096

static struct backing *open_bytes(void **state)
{
	uint8_t bytes[FILE_SIZE];
	struct backing *backing;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = mk_byte(7, i);
	write_file(in_temp(state, "file").text, bytes, sizeof(bytes));
	backing = backing_open(in_temp(state, "file").text, NULL);
	assert_non_null(backing);
	return backing;
}

#define SEGMENTS_MAX 12

/* A list of segments, and its bytes. */
struct list {
	struct segment segments[SEGMENTS_MAX];
	size_t n, size;
	uint8_t bytes[SEGMENTS_MAX * 200];
	char memory[FILE_SIZE];
};

static void make_list(struct list *list, struct backing *backing, uint32_t *seed)
{
	list->n = next(seed, SEGMENTS_MAX + 1);
	list->size = 0;
	for (size_t i = 0; i < FILE_SIZE; i++)
		list->memory[i] = (char)mk_byte(3, i);
	for (size_t i = 0; i < list->n; i++) {
		struct segment *s = &list->segments[i];
		const size_t from = next(seed, FILE_SIZE - 200);
		uint8_t *out = list->bytes + list->size;

		*s = (struct segment){ .kind = (enum segment_kind)next(seed, 3) };
		s->length = next(seed, 4) ? next(seed, 200) : 0;
		s->memory = list->memory + from;
		s->backing = s->kind == SEGMENT_EXTENT ? backing : NULL;
		s->offset = from;
		for (size_t k = 0; k < s->length; k++)
			out[k] = s->kind == SEGMENT_ZEROS    ? 0
				 : s->kind == SEGMENT_MEMORY ? (uint8_t)list->memory[from + k]
							     : mk_byte(7, from + k);
		list->size += s->length;
	}
}

/* Read one window, into a block of exactly its size. */
static void check_window(struct view *view, const struct list *list, size_t from, size_t n)
{
	const size_t left = from < list->size ? list->size - from : 0;
	const size_t expected = n < left ? n : left;
	uint8_t *bytes = malloc(expected + 1);

	bytes[expected] = 0xa5;
	assert_int_equal(view_read(view, bytes, n, from), expected);
	if (expected)
		assert_memory_equal(bytes, list->bytes + from, expected);
	assert_int_equal(bytes[expected], 0xa5);
	free(bytes);
}

static void any_window_is_that_slice_of_the_whole(void **state)
{
	struct backing *backing = open_bytes(state);
	struct list *list = malloc(sizeof(*list));
	uint32_t seed = 1;

	for (int round = 0; round < 300; round++) {
		struct view *view;

		make_list(list, backing, &seed);
		view = view_new(list->segments, list->n, NULL);
		assert_int_equal(view_size(view), list->size);
		check_window(view, list, 0, list->size);
		for (int i = 0; i < 20; i++)
			check_window(view, list, next(&seed, (uint32_t)list->size + 3),
				     next(&seed, (uint32_t)list->size + 3));
		view_unref(view);
	}
	free(list);
	backing_unref(backing);
}

static void every_window_of_a_short_list_is_right(void **state)
{
	struct backing *backing = open_bytes(state);
	const struct segment segments[] = {
		{ .kind = SEGMENT_ZEROS, .length = 0 },
		{ .kind = SEGMENT_MEMORY, .length = 3, .memory = "abc" },
		{ .kind = SEGMENT_ZEROS, .length = 2 },
		{ .kind = SEGMENT_MEMORY, .length = 0, .memory = "" },
		{ .kind = SEGMENT_EXTENT, .length = 4, .backing = backing, .offset = 100 },
		{ .kind = SEGMENT_ZEROS, .length = 0 },
	};
	struct list list = { .size = 9, .bytes = "abc" };
	struct view *view = view_new(segments, ARRAY_LENGTH(segments), NULL);

	for (size_t i = 0; i < 4; i++)
		list.bytes[5 + i] = mk_byte(7, 100 + i);
	assert_int_equal(view_size(view), 9);
	for (size_t from = 0; from <= 10; from++)
		for (size_t n = 0; n <= 10; n++)
			check_window(view, &list, from, n);
	view_unref(view);
	backing_unref(backing);
}

static void read_past_the_end_returns_no_bytes(void **state)
{
	const struct segment zeros = { .kind = SEGMENT_ZEROS, .length = 10 };
	struct view *view = view_new(&zeros, 1, NULL);
	char byte = 'x';

	(void)state;
	assert_int_equal(view_read(view, &byte, 1, 10), 0);
	assert_int_equal(view_read(view, &byte, 1, UINT64_MAX), 0);
	assert_int_equal(byte, 'x');
	view_unref(view);
}

static void a_view_of_no_segments_is_an_empty_file(void **state)
{
	struct view *view = view_new(NULL, 0, NULL);
	char byte;

	(void)state;
	assert_non_null(view);
	assert_int_equal(view_size(view), 0);
	assert_int_equal(view_read(view, &byte, 1, 0), 0);
	view_unref(view);
}

static void a_changed_file_is_an_error_and_never_part_of_an_answer(void **state)
{
	struct backing *backing = open_bytes(state);
	const struct segment segments[] = {
		{ .kind = SEGMENT_MEMORY, .length = 3, .memory = "abc" },
		{ .kind = SEGMENT_EXTENT, .length = 4, .backing = backing, .offset = 100 },
		{ .kind = SEGMENT_ZEROS, .length = 5 },
	};
	struct view *view = view_new(segments, ARRAY_LENGTH(segments), NULL);
	char bytes[12];

	assert_int_equal(view_read(view, bytes, 12, 0), 12);
	assert_int_equal(truncate(in_temp(state, "file").text, 102), 0);
	assert_int_equal(view_read(view, bytes, 12, 0), -EIO);
	assert_int_equal(view_read(view, bytes, 4, 0), -EIO);
	assert_int_equal(view_read(view, bytes, 1, 3), -EIO);
	assert_int_equal(view_read(view, bytes, 6, 6), -EIO);
	/* Windows outside of the file are unchanged. */
	assert_int_equal(view_read(view, bytes, 3, 0), 3);
	assert_int_equal(view_read(view, bytes, 9, 7), 5);
	view_unref(view);
	backing_unref(backing);
}

static void an_extent_past_the_end_of_its_file_is_an_error(void **state)
{
	struct backing *backing = open_bytes(state);
	const struct segment segment = {
		.kind = SEGMENT_EXTENT, .length = 10, .backing = backing, .offset = FILE_SIZE - 9
	};
	struct view *view = view_new(&segment, 1, NULL);
	char bytes[10];

	assert_int_equal(view_read(view, bytes, 10, 0), -EIO);
	assert_int_equal(view_read(view, bytes, 9, 0), 9);
	assert_int_equal(view_read(view, bytes, 1, 9), -EIO);
	view_unref(view);
	backing_unref(backing);
}

static void a_view_keeps_its_file_open_and_its_memory(void **state)
{
	struct backing *backing = open_bytes(state);
	const int fd = backing_fd_get(backing);
	char *owned = strdup("owned"), bytes[9];
	const struct segment segments[] = {
		{ .kind = SEGMENT_MEMORY, .length = 5, .memory = owned },
		{ .kind = SEGMENT_EXTENT, .length = 4, .backing = backing },
	};
	struct view *view = view_new(segments, 2, owned), *same = view_ref(view);

	backing_unref(backing);
	view_unref(view);
	assert_int_equal(view_read(same, bytes, 9, 0), 9);
	assert_memory_equal(bytes, "owned", 5);
	assert_int_equal(bytes[5], (char)mk_byte(7, 0));
	view_unref(same);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	view_unref(NULL);
}

static void text_becomes_a_view_and_null_does_not(void **state)
{
	struct view *view = view_of_text(strdup("some text"), 4);
	char *bytes = read_view(view);

	(void)state;
	assert_string_equal(bytes, "some");
	assert_null(view_of_text(NULL, 0));
	free(bytes);
	view_unref(view);
}

static void more_segments_than_there_is_memory_are_refused(void **state)
{
	(void)state;
	assert_null(view_new(NULL, SIZE_MAX / 2, strdup("is freed")));
}

static void a_view_may_be_larger_than_memory(void **state)
{
	const struct segment segments[] = {
		{ .kind = SEGMENT_ZEROS, .length = (uint64_t)1 << 50 },
		{ .kind = SEGMENT_MEMORY, .length = 3, .memory = "end" },
	};
	struct view *view = view_new(segments, 2, NULL);
	char bytes[6];

	(void)state;
	assert_int_equal(view_size(view), ((uint64_t)1 << 50) + 3);
	assert_int_equal(view_read(view, bytes, 6, ((uint64_t)1 << 50) - 3), 6);
	assert_memory_equal(bytes, "\0\0\0end", 6);
	view_unref(view);
}

/* ## computed bytes */

#define FAKE_SEGMENTS 16

/* A generator of known bytes that counts its requests. */
struct fake {
	struct view_generator generator;
	int prepare_rc, make_rc;
	int prepared, released, wrong;
	size_t first, n; /* arguments of the last preparation */
	int made[FAKE_SEGMENTS];
	const atomic_bool *stop; /* argument of the last call */
};

static uint8_t fake_byte(size_t number, size_t i)
{
	return mk_byte(50 + (uint32_t)number, i);
}

static int fake_prepare(struct view_generator *generator, size_t first, size_t n,
			const atomic_bool *stop)
{
	struct fake *fake = (struct fake *)generator;

	fake->prepared++;
	fake->first = first;
	fake->n = n;
	fake->stop = stop;
	return fake->prepare_rc;
}

static int fake_make(struct view_generator *generator, size_t number, char *bytes, size_t length,
		     const atomic_bool *stop)
{
	struct fake *fake = (struct fake *)generator;

	fake->wrong += number >= FAKE_SEGMENTS || fake->prepared == 0;
	fake->made[number % FAKE_SEGMENTS]++;
	fake->wrong += stop != fake->stop;
	for (size_t i = 0; i < length; i++)
		bytes[i] = (char)fake_byte(number, i);
	return fake->make_rc;
}

static void fake_release(struct view_generator *generator)
{
	((struct fake *)generator)->released++;
}

static struct fake new_fake(void)
{
	return (struct fake){ .generator = { fake_prepare, fake_make, fake_release } };
}

static void forget(struct fake *fake)
{
	*fake = new_fake();
}

/* Segments of memory, zeros and computed bytes, a few bytes each, and empty ones. */
static const struct segment mixed[] = {
	{ .kind = SEGMENT_MEMORY, .length = 0, .memory = "" },
	{ .kind = SEGMENT_COMPUTED, .length = 3 },
	{ .kind = SEGMENT_MEMORY, .length = 2, .memory = "ab" },
	{ .kind = SEGMENT_COMPUTED, .length = 1 },
	{ .kind = SEGMENT_COMPUTED, .length = 4 },
	{ .kind = SEGMENT_ZEROS, .length = 3 },
	{ .kind = SEGMENT_MEMORY, .length = 0, .memory = "" },
	{ .kind = SEGMENT_COMPUTED, .length = 2 },
	{ .kind = SEGMENT_MEMORY, .length = 4, .memory = "cdef" },
};

static void make_mixed(struct list *list)
{
	size_t number = 0;

	list->size = 0;
	for (size_t i = 0; i < ARRAY_LENGTH(mixed); i++) {
		for (size_t k = 0; k < mixed[i].length; k++)
			list->bytes[list->size++] = mixed[i].kind == SEGMENT_COMPUTED
							    ? fake_byte(number, k)
						    : mixed[i].kind == SEGMENT_ZEROS
							    ? 0
							    : ((const uint8_t *)mixed[i].memory)[k];
		number += mixed[i].kind == SEGMENT_COMPUTED;
	}
}

/* Number of computed segments of mixed[] that have a byte in this window. */
static size_t touched(size_t from, size_t end, bool touches[FAKE_SEGMENTS])
{
	size_t at = 0, number = 0, n = 0;

	for (size_t i = 0; i < ARRAY_LENGTH(mixed); i++) {
		const size_t next_at = at + (size_t)mixed[i].length;

		if (mixed[i].kind == SEGMENT_COMPUTED) {
			touches[number] = from < next_at && at < end && from < end;
			n += touches[number++];
		}
		at = next_at;
	}
	return n;
}

static void check_asked(const struct fake *fake, size_t from, size_t end)
{
	bool touches[FAKE_SEGMENTS] = { 0 };
	const size_t n = touched(from, end, touches);

	assert_int_equal(fake->prepared, n > 0);
	assert_int_equal(fake->n, n);
	assert_int_equal(fake->wrong, 0);
	for (size_t i = 0; i < FAKE_SEGMENTS; i++) {
		assert_int_equal(fake->made[i], touches[i]);
		if (touches[i])
			assert_true(i >= fake->first && i < fake->first + n);
	}
}

static void every_window_requests_touched_rows_once(void **state)
{
	struct fake fake = new_fake();
	struct list *list = calloc(1, sizeof(*list));
	struct view *view = view_new_computed(mixed, ARRAY_LENGTH(mixed), NULL, &fake.generator);

	(void)state;
	make_mixed(list);
	assert_int_equal(list->size, 19);
	assert_int_equal(view_size(view), list->size);
	for (size_t from = 0; from <= list->size + 1; from++)
		for (size_t n = 0; n <= list->size + 2; n++) {
			const size_t end = from + n < list->size ? from + n : list->size;

			forget(&fake);
			check_window(view, list, from, n);
			check_asked(&fake, from, end);
		}
	view_unref(view);
	assert_int_equal(fake.released, 1);
	free(list);
}

static void only_a_view_with_generator_may_take_long(void **state)
{
	struct fake fake = new_fake();
	struct view *view = view_new_computed(mixed, ARRAY_LENGTH(mixed), NULL, &fake.generator);
	struct view *plain = view_of_text(strdup("some text"), 9);

	(void)state;
	assert_true(view_is_computed(view));
	assert_false(view_is_computed(plain));
	view_unref(plain);
	view_unref(view);
}

static void failed_generator_fails_the_whole_read(void **state)
{
	struct fake fake = new_fake();
	struct view *view = view_new_computed(mixed, ARRAY_LENGTH(mixed), NULL, &fake.generator);
	char bytes[19];

	(void)state;
	fake.make_rc = -EIO;
	assert_int_equal(view_read(view, bytes, 19, 0), -EIO);
	assert_int_equal(fake.made[0], 1);
	assert_int_equal(fake.made[1], 0);
	/* The reads are of the whole, and of a part. */
	assert_int_equal(view_read(view, bytes, 3, 0), -EIO);
	assert_int_equal(view_read(view, bytes, 1, 1), -EIO);
	assert_int_equal(view_read(view, bytes, 3, 4), -EIO);
	/* Segments that are not computed are unchanged. */
	assert_int_equal(view_read(view, bytes, 2, 3), 2);
	assert_int_equal(view_read(view, bytes, 9, 15), 4);
	view_unref(view);
}

static void failed_prepare_skips_the_generator(void **state)
{
	struct fake fake = new_fake();
	struct view *view = view_new_computed(mixed, ARRAY_LENGTH(mixed), NULL, &fake.generator);
	char bytes[19];

	(void)state;
	fake.prepare_rc = -EINTR;
	assert_int_equal(view_read(view, bytes, 19, 0), -EINTR);
	assert_int_equal(view_read(view, bytes, 1, 0), -EINTR);
	assert_int_equal(fake.made[0], 0);
	assert_int_equal(view_read(view, bytes, 2, 3), 2);
	assert_int_equal(fake.prepared, 2);
	view_unref(view);
}

static void generator_gets_the_readers_stop_flag(void **state)
{
	struct fake fake = new_fake();
	struct view *view = view_new_computed(mixed, ARRAY_LENGTH(mixed), NULL, &fake.generator);
	const atomic_bool stop = false;
	char bytes[19];

	(void)state;
	assert_int_equal(view_read_cancellable(view, bytes, 19, 0, &stop), 19);
	assert_ptr_equal(fake.stop, &stop);
	assert_int_equal(view_read(view, bytes, 19, 0), 19);
	assert_null(fake.stop);
	assert_int_equal(fake.wrong, 0);
	view_unref(view);
}

static void generator_is_released_once_with_last_reference(void **state)
{
	struct fake fake = new_fake();
	struct view *view =
		view_new_computed(mixed, ARRAY_LENGTH(mixed), strdup("x"), &fake.generator);

	(void)state;
	view_unref(view_ref(view));
	assert_int_equal(fake.released, 0);
	view_unref(view);
	assert_int_equal(fake.released, 1);
}

static void generator_is_released_even_without_memory(void **state)
{
	struct fake fake = new_fake();
	char *owned;

	needs_failing_allocations();
	(void)state;
	assert_null(view_new_computed(NULL, SIZE_MAX / 2, strdup("is freed"), &fake.generator));
	assert_int_equal(fake.released, 1);
	forget(&fake);
	owned = strdup("is freed");
	allocation_fails(1);
	assert_null(view_new_computed(mixed, ARRAY_LENGTH(mixed), owned, &fake.generator));
	assert_true(allocation_failed());
	assert_int_equal(fake.released, 1);
}

static void partial_read_of_computed_rows_needs_memory(void **state)
{
	struct fake fake = new_fake();
	struct view *view;
	char bytes[19];

	needs_failing_allocations();
	(void)state;
	view = view_new_computed(mixed, ARRAY_LENGTH(mixed), NULL, &fake.generator);
	allocation_fails(1);
	assert_int_equal(view_read(view, bytes, 2, 1), -ENOMEM);
	assert_true(allocation_failed());
	/* A read of the whole view needs the allocation. */
	allocation_fails(1);
	assert_int_equal(view_read(view, bytes, 19, 0), 19);
	assert_false(allocation_failed());
	view_unref(view);
}

/* ## extents */

static void assert_extent(struct view *view, uint64_t at, uint64_t length, struct backing *backing,
			  uint64_t offset)
{
	struct extent extent;

	assert_true(view_extent(view, at, &extent));
	assert_int_equal(extent.length, length);
	assert_ptr_equal(extent.backing, backing);
	if (backing)
		assert_int_equal(extent.offset, offset);
}

static void adjacent_segments_are_one_extent(void **state)
{
	struct backing *backing = open_bytes(state), *gone = backing_new_missing("/gone", 100);
	const struct segment segments[] = {
		{ .kind = SEGMENT_MEMORY, .length = 3, .memory = "abc" },
		{ .kind = SEGMENT_ZEROS, .length = 2 },
		{ .kind = SEGMENT_EXTENT, .length = 10, .backing = backing, .offset = 100 },
		{ .kind = SEGMENT_MEMORY, .length = 0, .memory = "" },
		{ .kind = SEGMENT_EXTENT, .length = 5, .backing = backing, .offset = 110 },
		{ .kind = SEGMENT_EXTENT, .length = 5, .backing = backing, .offset = 116 },
		{ .kind = SEGMENT_EXTENT, .length = 7, .backing = gone, .offset = 121 },
	};
	struct view *view = view_new(segments, ARRAY_LENGTH(segments), NULL);
	struct extent extent;

	assert_extent(view, 0, 5, NULL, 0);
	assert_extent(view, 4, 1, NULL, 0);
	assert_extent(view, 5, 15, backing, 100);
	assert_extent(view, 14, 6, backing, 109);
	assert_extent(view, 15, 5, backing, 110);
	assert_extent(view, 20, 5, backing, 116);
	assert_extent(view, 25, 7, NULL, 0);
	assert_false(view_extent(view, 32, &extent));
	assert_false(view_extent(view, UINT64_MAX, &extent));
	view_unref(view);
	view = view_new(NULL, 0, NULL);
	assert_false(view_extent(view, 0, &extent));
	view_unref(view);
	backing_unref(backing);
	backing_unref(gone);
}

static void views_of_equal_segments_are_the_same(void **state)
{
	struct backing *backing = open_bytes(state), *gone = backing_new_missing("/gone", 100);
	const char text[] = "abcabc";
	const struct segment segments[] = {
		{ .kind = SEGMENT_MEMORY, .length = 3, .memory = text },
		{ .kind = SEGMENT_ZEROS, .length = 2 },
		{ .kind = SEGMENT_EXTENT, .length = 10, .backing = backing, .offset = 5 },
	};
	const struct segment others[][3] = {
		{ { .kind = SEGMENT_MEMORY, .length = 3, .memory = text + 3 },
		  segments[1],
		  segments[2] },
		{ { .kind = SEGMENT_MEMORY, .length = 3, .memory = text + 1 },
		  segments[1],
		  segments[2] },
		{ segments[0], { .kind = SEGMENT_ZEROS, .length = 3 }, segments[2] },
		{ segments[0],
		  segments[1],
		  { .kind = SEGMENT_EXTENT, .length = 10, .backing = backing, .offset = 6 } },
		{ segments[0],
		  segments[1],
		  { .kind = SEGMENT_EXTENT, .length = 10, .backing = gone, .offset = 5 } },
		{ segments[0], segments[2], segments[1] },
	};
	struct view *view = view_new(segments, 3, NULL);

	assert_true(view_is_same(view, view));
	for (size_t i = 0; i < ARRAY_LENGTH(others); i++) {
		struct view *other = view_new(others[i], 3, NULL);

		assert_int_equal(view_is_same(view, other), i == 0);
		view_unref(other);
	}
	for (size_t n = 0; n < 3; n++) {
		struct view *shorter = view_new(segments, n, NULL);

		assert_false(view_is_same(view, shorter));
		assert_false(view_is_same(shorter, view));
		view_unref(shorter);
	}
	view_unref(view);
	backing_unref(backing);
	backing_unref(gone);
}

static void failed_read_uses_the_fallback(void **state)
{
	struct backing *backing = open_bytes(state);
	const struct segment segment = { .kind = SEGMENT_EXTENT, .length = 4, .backing = backing };
	struct view *view = view_new(&segment, 1, NULL);
	char bytes[4];

	view_set_fallback(view, view_of_text(strdup("text"), 4));
	assert_int_equal(view_read(view, bytes, 4, 0), 4);
	assert_int_equal((uint8_t)bytes[1], mk_byte(7, 1));
	assert_int_equal(truncate(in_temp(state, "file").text, 2), 0);
	assert_int_equal(view_read(view, bytes, 4, 1), 3);
	assert_memory_equal(bytes, "ext", 3);
	view_unref(view);
	backing_unref(backing);
}

UNIT_MAIN(temp_setup, temp_teardown)
