/* SPDX-License-Identifier: MIT */
/* test_cursor.c - gguf/cursor.c: bytes are claimed before they are read, across windows, at the
 * end, and when the source fails. */
#include "gguf/cursor.h"
#include "tests/unit/unit.h"

/* More than several windows, and not a multiple of one. */
#define LONG ((size_t)1000003)

static uint8_t byte_at(uint64_t at)
{
	return (uint8_t)(at * 7 + (at >> 8) * 3 + (at >> 16));
}

/* A generated source, which checks each request. */
struct made {
	uint64_t size;
	uint64_t broken; /* reads that touch this byte fail */
	unsigned reads;
};

static int made_read_at(void *context, void *bytes, size_t n, uint64_t offset)
{
	struct made *made = context;

	assert_true(offset <= made->size && n <= made->size - offset);
	made->reads++;
	if (offset <= made->broken && made->broken - offset < n)
		return -EIO;
	for (size_t i = 0; i < n; i++)
		((uint8_t *)bytes)[i] = byte_at(offset + i);
	return 0;
}

static struct source source_of(struct made *made)
{
	return (struct source){ made_read_at, made, made->size };
}

static void assert_takes(struct cursor *cursor, size_t n)
{
	const uint64_t at = cursor->at;
	const uint8_t *bytes;

	assert_int_equal(cursor_take(cursor, n, &bytes), 0);
	assert_int_equal(cursor->at, at + n);
	for (size_t i = 0; i < n; i++)
		if (bytes[i] != byte_at(at + i))
			fail_msg("byte %zu of %zu at %llu", i, n, (unsigned long long)at);
}

static void takes_of_any_size_are_the_bytes_in_order(void **state)
{
	static const size_t sizes[] = { 1, 4, 8, 0, 65535, 65536, 3, 1021, 32768 };
	struct made made = { LONG, UINT64_MAX, 0 };
	const struct source source = source_of(&made);
	struct cursor cursor;

	(void)state;
	assert_int_equal(cursor_init(&cursor, &source, 0), 0);
	for (size_t i = 0; cursor_left(&cursor); i++) {
		const size_t n = sizes[i % ARRAY_LENGTH(sizes)];

		assert_takes(&cursor, n < cursor_left(&cursor) ? n : (size_t)cursor_left(&cursor));
	}
	assert_int_equal(cursor.at, LONG);
	cursor_release(&cursor);
}

static void small_takes_need_few_reads(void **state)
{
	struct made made = { LONG, UINT64_MAX, 0 };
	const struct source source = source_of(&made);
	struct cursor cursor;

	(void)state;
	assert_int_equal(cursor_init(&cursor, &source, 0), 0);
	while (cursor_left(&cursor) >= 12)
		assert_takes(&cursor, 12);
	assert_true(made.reads <= 8);
	cursor_release(&cursor);
}

static void a_window_is_no_longer_than_the_rest_of_the_source(void **state)
{
	struct made made = { LONG, UINT64_MAX, 0 };
	const struct source source = source_of(&made);
	struct cursor cursor;

	(void)state;
	assert_int_equal(cursor_init(&cursor, &source, LONG - 5), 0);
	assert_int_equal(cursor.room, 5);
	assert_takes(&cursor, 5);
	cursor_release(&cursor);
}

static void a_cursor_begins_where_it_is_told(void **state)
{
	struct made made = { LONG, UINT64_MAX, 0 };
	const struct source source = source_of(&made);
	struct cursor cursor;

	(void)state;
	assert_int_equal(cursor_init(&cursor, &source, 777777), 0);
	assert_int_equal(cursor_left(&cursor), LONG - 777777);
	assert_takes(&cursor, 1000);
	cursor_release(&cursor);
}

static void past_the_end_nothing_is_left(void **state)
{
	struct made made = { 10, UINT64_MAX, 0 };
	const struct source source = source_of(&made);
	struct cursor cursor;
	const uint8_t *bytes;

	(void)state;
	assert_int_equal(cursor_init(&cursor, &source, 11), 0);
	assert_int_equal(cursor_left(&cursor), 0);
	assert_int_equal(cursor_take(&cursor, 1, &bytes), -EBADMSG);
	assert_int_equal(cursor_skip(&cursor, 1), -EBADMSG);
	cursor_release(&cursor);
}

static void a_claim_past_the_end_is_refused_and_moves_nothing(void **state)
{
	struct made made = { 10, UINT64_MAX, 0 };
	const struct source source = source_of(&made);
	const uint8_t *bytes;
	struct cursor cursor;
	uint32_t narrow;
	uint64_t wide;

	(void)state;
	assert_int_equal(cursor_init(&cursor, &source, 0), 0);
	assert_takes(&cursor, 7);
	assert_int_equal(cursor_take(&cursor, 4, &bytes), -EBADMSG);
	assert_int_equal(cursor_take(&cursor, SIZE_MAX, &bytes), -EBADMSG);
	assert_int_equal(cursor_u32(&cursor, &narrow), -EBADMSG);
	assert_int_equal(cursor_u64(&cursor, &wide), -EBADMSG);
	assert_int_equal(cursor_skip(&cursor, 4), -EBADMSG);
	assert_int_equal(cursor_skip(&cursor, UINT64_MAX), -EBADMSG);
	assert_int_equal(cursor.at, 7);
	assert_takes(&cursor, 3);
	assert_takes(&cursor, 0);
	cursor_release(&cursor);
}

static void a_claim_beyond_the_limit_is_refused(void **state)
{
	struct made made = { LONG, UINT64_MAX, 0 };
	const struct source source = source_of(&made);
	const uint8_t *bytes;
	struct cursor cursor;

	(void)state;
	assert_int_equal(cursor_init(&cursor, &source, 0), 0);
	assert_int_equal(cursor_take(&cursor, CURSOR_TAKE_MAX + 1, &bytes), -EBADMSG);
	assert_takes(&cursor, CURSOR_TAKE_MAX);
	cursor_release(&cursor);
}

static void a_skip_reads_nothing(void **state)
{
	struct made made = { 1ull << 62, UINT64_MAX, 0 };
	const struct source source = source_of(&made);
	struct cursor cursor;

	(void)state;
	assert_int_equal(cursor_init(&cursor, &source, 0), 0);
	assert_takes(&cursor, 3);
	assert_int_equal(cursor_skip(&cursor, (1ull << 62) - 8), 0);
	assert_int_equal(made.reads, 1);
	assert_takes(&cursor, 5);
	assert_int_equal(made.reads, 2);
	cursor_release(&cursor);
}

static void skips_inside_the_window_land_right(void **state)
{
	struct made made = { LONG, UINT64_MAX, 0 };
	const struct source source = source_of(&made);
	struct cursor cursor;

	(void)state;
	assert_int_equal(cursor_init(&cursor, &source, 0), 0);
	for (uint64_t n = 0; cursor_left(&cursor) > n + 5; n = n * 2 + 1) {
		assert_takes(&cursor, 5);
		assert_int_equal(cursor_skip(&cursor, n), 0);
	}
	cursor_release(&cursor);
}

static void numbers_are_little_endian(void **state)
{
	static const uint8_t bytes[] = { 1, 2, 3, 0x84, 5, 6, 7, 8, 9, 10, 11, 0x8c };
	struct memory_bytes memory = { bytes, sizeof(bytes) };
	const struct source source = source_of_memory(&memory);
	struct cursor cursor;
	uint32_t narrow;
	uint64_t wide;

	(void)state;
	assert_int_equal(cursor_init(&cursor, &source, 0), 0);
	assert_int_equal(cursor_u32(&cursor, &narrow), 0);
	assert_int_equal(narrow, 0x84030201);
	assert_int_equal(cursor_u64(&cursor, &wide), 0);
	assert_true(wide == 0x8c0b0a0908070605);
	assert_int_equal(cursor_left(&cursor), 0);
	cursor_release(&cursor);
}

static void a_failing_source_is_reported_and_moves_nothing(void **state)
{
	struct made made = { LONG, 500000, 0 };
	const struct source source = source_of(&made);
	const uint8_t *bytes;
	struct cursor cursor;
	uint32_t narrow;
	uint64_t wide;

	(void)state;
	assert_int_equal(cursor_init(&cursor, &source, 499998), 0);
	assert_int_equal(cursor_take(&cursor, 1, &bytes), -EIO);
	assert_int_equal(cursor_u32(&cursor, &narrow), -EIO);
	assert_int_equal(cursor_u64(&cursor, &wide), -EIO);
	assert_int_equal(cursor.at, 499998);
	made.broken = UINT64_MAX;
	assert_takes(&cursor, 8);
	cursor_release(&cursor);
}

static void a_failure_leaves_no_stale_bytes(void **state)
{
	struct made made = { LONG, 500000, 0 };
	const struct source source = source_of(&made);
	const uint8_t *bytes;
	struct cursor cursor;

	(void)state;
	assert_int_equal(cursor_init(&cursor, &source, 0), 0);
	assert_takes(&cursor, 100);
	assert_int_equal(cursor_skip(&cursor, 499000), 0);
	assert_int_equal(cursor_take(&cursor, 50, &bytes), -EIO);
	assert_int_equal(cursor_take(&cursor, 0, &bytes), 0);
	assert_int_equal(cursor_take(&cursor, 50, &bytes), -EIO);
	cursor_release(&cursor);
}

static void memory_beyond_its_end_is_an_io_error(void **state)
{
	static const uint8_t bytes[4];
	struct memory_bytes memory = { bytes, sizeof(bytes) };
	struct source source = source_of_memory(&memory);
	uint8_t out[8];

	(void)state;
	assert_int_equal(source.size, 4);
	assert_int_equal(source.read_at(source.context, out, 4, 0), 0);
	assert_int_equal(source.read_at(source.context, out, 0, 4), 0);
	assert_int_equal(source.read_at(source.context, out, 5, 0), -EIO);
	assert_int_equal(source.read_at(source.context, out, 1, 4), -EIO);
	assert_int_equal(source.read_at(source.context, out, 8, UINT64_MAX - 3), -EIO);
}

static void an_empty_source_can_be_read_to_its_end(void **state)
{
	struct memory_bytes memory = { NULL, 0 };
	const struct source source = source_of_memory(&memory);
	struct cursor cursor;
	const uint8_t *bytes;

	(void)state;
	assert_int_equal(cursor_init(&cursor, &source, 0), 0);
	assert_int_equal(cursor_take(&cursor, 0, &bytes), 0);
	assert_int_equal(cursor_take(&cursor, 1, &bytes), -EBADMSG);
	cursor_release(&cursor);
}

static void short_cursor_reads_little_and_takes_long_fields(void **state)
{
	struct made made = { LONG, 512, 0 };
	const struct source source = source_of(&made);
	struct cursor cursor;
	const uint8_t *bytes;

	(void)state;
	/* Byte 512 is unreadable, and not read before it is claimed. */
	assert_int_equal(cursor_init_short(&cursor, &source, 0), 0);
	assert_takes(&cursor, 4);
	assert_takes(&cursor, 508);
	assert_int_equal(made.reads, 1);
	assert_int_equal(cursor_take(&cursor, 1, &bytes), -EIO);
	made.broken = UINT64_MAX;
	assert_takes(&cursor, CURSOR_TAKE_MAX);
	assert_takes(&cursor, 8);
	cursor_release(&cursor);
}

static void a_short_cursor_without_memory_stays_where_it_is(void **state)
{
	struct made made = { LONG, UINT64_MAX, 0 };
	const struct source source = source_of(&made);
	struct cursor cursor;
	const uint8_t *bytes;
	int rc;

	(void)state;
	needs_failing_allocations();
	assert_int_equal(cursor_init_short(&cursor, &source, 0), 0);
	assert_takes(&cursor, 4);
	allocation_fails(1);
	rc = cursor_take(&cursor, CURSOR_TAKE_MAX, &bytes);
	assert_true(allocation_failed());
	assert_int_equal(rc, -ENOMEM);
	assert_takes(&cursor, 8);
	cursor_release(&cursor);
}

static void a_cursor_without_memory_can_be_released(void **state)
{
	struct made made = { LONG, UINT64_MAX, 0 };
	const struct source source = source_of(&made);
	struct cursor cursor;
	int rc;

	(void)state;
	needs_failing_allocations();
	allocation_fails(1);
	rc = cursor_init(&cursor, &source, 0);
	assert_true(allocation_failed());
	assert_int_equal(rc, -ENOMEM);
	cursor_release(&cursor);
}

UNIT_MAIN(NULL, NULL)
