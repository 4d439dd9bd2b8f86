/* SPDX-License-Identifier: MIT */
/* test_sample.c - measure/sample.c: the places of the spans, some of them computed in Python with
 * integers of any size. */
#include "measure/sample.h"
#include "tests/unit/unit.h"

struct known {
	uint64_t limit, elements, spans, sampled, sum_of_starts, last;
};

static void check_known(const struct known *known)
{
	uint64_t spans = 0, sampled = 0, sum = 0;
	struct sample sample;
	struct span span = { 0, 0 };

	sample_init(&sample, known->elements, known->limit);
	assert_int_equal(sample.spans, known->spans);
	assert_true(sample_most(&sample) >= known->sampled);
	assert_true(sample_most(&sample) <= known->limit);
	for (; sample_next(&sample, &span); spans++) {
		sampled += span.count;
		sum += span.start;
	}
	assert_int_equal(spans, known->spans);
	assert_int_equal(sampled, known->sampled);
	assert_int_equal(sample_total(known->elements, known->limit), known->sampled);
	assert_int_equal(sum, known->sum_of_starts);
	assert_int_equal(span.start, known->last);
}

static void spans_agree_with_the_definition(void **state)
{
	static const struct known known[] = {
		{ 100000, 100001, 390, 99745, 19513344, 99840 },
		{ 100000, 131072, 390, 99840, 25525248, 130816 },
		{ 100000, 1048576, 390, 99840, 204422144, 1046784 },
		{ 100000, 58720256, 390, 99840, 11450393088, 58632192 },
		{ 100000, 544997376, 390, 99840, 106274392832, 544179968 },
		{ 100000, 1000000000000, 390, 99840, 194999918431744, 998500568064 },
		{ 256, 257, 1, 256, 0, 0 },
		{ 1000, 1001, 3, 745, 1280, 768 },
		{ 10000, 50000, 39, 9984, 973056, 49408 },
		{ 10000, 1000000000, 39, 9984, 19486230784, 986802176 },
		{ 1000000, 5000000, 3906, 999936, 9764873984, 4999424 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(known); i++)
		check_known(&known[i]);
}

static void first_spans_have_known_offsets(void **state)
{
	static const uint64_t starts[] = { 0, 243456, 336640, 580096, 673280 };
	struct sample sample;
	struct span span;

	(void)state;
	sample_init(&sample, 58720256, SAMPLE_DEFAULT);
	for (size_t i = 0; i < ARRAY_LENGTH(starts); i++) {
		assert_true(sample_next(&sample, &span));
		assert_int_equal(span.start, starts[i]);
		assert_int_equal(span.count, SAMPLE_SPAN);
	}
}

static void a_small_tensor_is_one_span(void **state)
{
	static const uint64_t sizes[] = { 1, 255, 256, 257, SAMPLE_DEFAULT };
	struct sample sample;
	struct span span;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
		sample_init(&sample, sizes[i], SAMPLE_DEFAULT);
		assert_int_equal(sample_most(&sample), sizes[i]);
		assert_true(sample_next(&sample, &span));
		assert_int_equal(span.start, 0);
		assert_int_equal(span.count, sizes[i]);
		assert_false(sample_next(&sample, &span));
		assert_false(sample_next(&sample, &span));
	}
}

static void an_empty_tensor_has_no_span(void **state)
{
	struct sample sample;
	struct span span;

	(void)state;
	sample_init(&sample, 0, SAMPLE_DEFAULT);
	assert_int_equal(sample.spans, 0);
	assert_int_equal(sample_most(&sample), 0);
	assert_int_equal(sample_total(0, SAMPLE_DEFAULT), 0);
	assert_false(sample_next(&sample, &span));
}

/* Check that spans ascend, begin at multiples of 256, and end inside the tensor. */
static void check_order(uint64_t elements, uint64_t limit)
{
	uint64_t end = 0, spans = 0, sampled = 0;
	struct sample sample;
	struct span span;

	sample_init(&sample, elements, limit);
	for (; sample_next(&sample, &span); spans++) {
		if (span.start < end || span.start % SAMPLE_SPAN || span.count == 0 ||
		    span.start + span.count > elements)
			fail_msg("span %llu of %llu elements, limit %llu",
				 (unsigned long long)spans, (unsigned long long)elements,
				 (unsigned long long)limit);
		end = span.start + span.count;
		sampled += span.count;
	}
	assert_int_equal(spans, elements > limit ? limit / SAMPLE_SPAN : 1);
	assert_true(sampled <= limit);
}

static void spans_never_meet_and_never_leave_the_tensor(void **state)
{
	(void)state;
	for (uint64_t tiles = 390; tiles < 9000; tiles += tiles < 1200 ? 1 : 37)
		for (uint64_t more = 1; more <= SAMPLE_SPAN; more += 85)
			check_order(tiles * SAMPLE_SPAN + more, SAMPLE_DEFAULT);
	for (uint64_t limit = 256; limit < 5000; limit += 111)
		for (uint64_t elements = limit + 1; elements < 3 * limit; elements += 97)
			check_order(elements, limit);
	for (uint64_t elements = 1 << 20; elements < 1ull << 62; elements = elements * 3 + 1)
		check_order(elements, SAMPLE_DEFAULT);
	check_order(UINT64_MAX, SAMPLE_DEFAULT);
}

static void a_limit_out_of_range_counts_as_the_nearest(void **state)
{
	struct sample sample;

	(void)state;
	for (uint64_t limit = 0; limit <= SAMPLE_LIMIT_MIN; limit += 64) {
		sample_init(&sample, 1000, limit);
		assert_int_equal(sample.spans, 1);
		assert_int_equal(sample_most(&sample), SAMPLE_SPAN);
	}
	sample_init(&sample, SAMPLE_LIMIT_MAX, UINT64_MAX);
	assert_int_equal(sample.spans, 1);
	sample_init(&sample, 1ull << 32, UINT64_MAX);
	assert_int_equal(sample.spans, SAMPLE_LIMIT_MAX / SAMPLE_SPAN);
}

UNIT_MAIN(NULL, NULL)
