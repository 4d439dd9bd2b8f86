/* SPDX-License-Identifier: MIT */
/* test_sample.c - measure/sample.c: where the spans lie, for sizes whose spans are known. */
#include "unit.h"
#include "measure/sample.h"

static void a_small_tensor_is_one_span(void **state)
{
	struct sample sample;
	struct span span;

	(void)state;
	sample_init(&sample, SAMPLE_DEFAULT, SAMPLE_DEFAULT);
	assert_int_equal(sample_most(&sample), SAMPLE_DEFAULT);
	assert_true(sample_next(&sample, &span));
	assert_int_equal(span.start, 0);
	assert_int_equal(span.count, SAMPLE_DEFAULT);
	assert_false(sample_next(&sample, &span));
	sample_init(&sample, 0, SAMPLE_DEFAULT);
	assert_false(sample_next(&sample, &span));
}

struct known {
	uint64_t elements, sampled, sum_of_starts;
};

static void spans_lie_where_they_should(void **state)
{
	static const struct known known[] = {
		{ 131072, 99840, 25525248 },
		{ 58720256, 99840, 11450393088 },
		{ 100001, 99745, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(known); i++) {
		uint64_t sampled = 0, sum = 0, spans = 0, end = 0;
		struct sample sample;
		struct span span;

		sample_init(&sample, known[i].elements, SAMPLE_DEFAULT);
		for (; sample_next(&sample, &span); spans++) {
			assert_true(span.start >= end && span.start % SAMPLE_SPAN == 0);
			end = span.start + span.count;
			assert_true(end <= known[i].elements);
			sampled += span.count;
			sum += span.start;
		}
		assert_int_equal(spans, 390);
		assert_int_equal(sampled, known[i].sampled);
		if (known[i].sum_of_starts)
			assert_int_equal(sum, known[i].sum_of_starts);
	}
}

static void every_size_gives_spans_inside_it(void **state)
{
	(void)state;
	for (uint64_t elements = 1; elements < (uint64_t)1 << 62;
	     elements += elements / 4 * 3 + 255) {
		struct sample sample;
		struct span span;
		uint64_t sampled = 0, end = 0;

		sample_init(&sample, elements, SAMPLE_DEFAULT);
		while (sample_next(&sample, &span)) {
			assert_true(span.count > 0 && span.start >= end);
			end = span.start + span.count;
			sampled += span.count;
		}
		assert_true(end <= elements);
		assert_true(sampled <= sample_most(&sample) && sampled <= SAMPLE_DEFAULT);
	}
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_small_tensor_is_one_span),
	cmocka_unit_test(spans_lie_where_they_should),
	cmocka_unit_test(every_size_gives_spans_inside_it),
};

UNIT_MAIN(tests)
