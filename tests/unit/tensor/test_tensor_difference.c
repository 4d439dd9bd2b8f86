/* SPDX-License-Identifier: MIT */
/* test_tensor_difference.c - fs/tensor/tensor_difference.c: figures of decoded values, and results
 * without them. */
#include "fs/storage/backing.h"
#include "fs/tensor/organ_views.h"
#include "fs/tensor/sampling.h"
#include "fs/tensor/tensor_difference.h"
#include "fs/util/halt.h"
#include "gguf/dequant.h"
#include "gguf/types.h"
#include "measure/difference.h"
#include "measure/sample.h"
#include "tests/unit/small_gguf.h"
#include "tests/unit/zinputs.h"

#include <math.h>

#define AT 77

static const struct halt no_halt;
static const uint64_t long_ne[] = { 256, 1000 }, other_ne[] = { 1000, 256 };

/* A tensor of two axes in a file of its own; bytes NULL: zeros. */
static struct organ_location tensor_in(void **state, const char *name, uint32_t type,
				       const uint64_t *ne, const void *bytes)
{
	struct organ_location at = { .offset = AT };
	uint8_t *file;
	size_t size;

	at.organ = (struct organ){
		.name = "t", .name_length = 1, .dims = 2, .type = type, .ne = { ne[0], ne[1], 1, 1 }
	};
	if (type_size(type, at.organ.ne, &at.organ.data_size) != TYPE_SIZE_OK)
		at.organ.data_size = 64;
	size = to_size(at.organ.data_size);
	file = calloc(1, AT + size);
	must(file);
	if (bytes)
		memcpy(file + AT, bytes, size);
	write_file(in_temp(state, name).text, file, AT + size);
	free(file);
	at.file = backing_open(in_temp(state, name).text, NULL);
	must(at.file);
	return at;
}

/* n normal floats that Q8_0 with one scale represents exactly. */
static float *bells(size_t n, uint32_t random)
{
	float *values = new_values(n);

	for (size_t i = 0; i < n; i++)
		values[i] = (float)bell(&random);
	return values;
}

static uint8_t *blocks_of(const float *values, size_t n)
{
	uint8_t *bytes = malloc(n / 32 * 34);

	must(bytes);
	for (size_t i = 0; i < n; i++) {
		memcpy(bytes + i / 32 * 34, "\0\x24", 2); /* 2^-6 */
		bytes[i / 32 * 34 + 2 + i % 32] =
			(uint8_t)(int8_t)fmaxf(-127, fminf(127, rintf(values[i] * 64)));
	}
	return bytes;
}

static struct tensor_difference compare(const struct organ_location *a,
					const struct organ_location *b, uint64_t samples)
{
	struct tensor_difference d;

	must(tensor_difference(a, b, samples, &no_halt, &d) == 0);
	return d;
}

static void figures_are_those_of_the_decoded_values(void **state)
{
	const size_t n = 256 * 1000;
	float *values = bells(n, 3), *decoded = new_values(n);
	uint8_t *blocks = blocks_of(values, n);
	struct organ_location a = tensor_in(state, "a", GGML_F32, long_ne, values);
	struct organ_location b = tensor_in(state, "b", GGML_Q8_0, long_ne, blocks);
	struct difference whole = { 0 }, part = { 0 };
	struct tensor_difference d = compare(&a, &b, SAMPLES_ALL);
	struct sample sample;
	struct span span;

	dequant_range(GGML_Q8_0, blocks, 0, n, decoded);
	difference_add(&whole, values, decoded, n);
	assert_int_equal(d.status, DIFFERENCE_OK);
	assert_false(d.same);
	assert_true(d.cosine == difference_cosine(&whole) && d.cosine > 0.99);
	assert_true(d.relative == difference_relative(&whole) && d.relative > 0);
	assert_true(d.average == difference_average(&whole) && d.largest == whole.largest);
	assert_true(isfinite(d.theta) && d.theta != 0);
	sample_init(&sample, n, 1024);
	while (sample_next(&sample, &span))
		difference_add(&part, values + span.start, decoded + span.start, span.count);
	d = compare(&a, &b, 1024);
	assert_true(d.cosine == difference_cosine(&part));
	assert_true(d.relative == difference_relative(&part) && d.largest == part.largest);
	backing_unref(a.file);
	backing_unref(b.file);
	free(blocks);
	free(decoded);
	free(values);
}

static void difference_in_last_byte_is_found(void **state)
{
	const size_t n = 256 * 1000;
	float *values = bells(n, 3);
	struct organ_location a = tensor_in(state, "a", GGML_F32, long_ne, values);
	struct organ_location b = tensor_in(state, "b", GGML_F32, long_ne, values), c;
	struct tensor_difference d = compare(&a, &b, SAMPLE_DEFAULT);

	assert_true(d.same && d.status == DIFFERENCE_OK && d.cosine == 1);
	assert_true(d.relative == 0 && d.average == 0 && d.largest == 0 && d.theta == 0);
	assert_false(tensor_difference_is_none(&a, &b));
	values[n - 1] += 1;
	c = tensor_in(state, "c", GGML_F32, long_ne, values);
	d = compare(&a, &c, SAMPLES_ALL);
	assert_true(!d.same && d.largest > 0.9);
	backing_unref(a.file);
	backing_unref(b.file);
	backing_unref(c.file);
	free(values);
}

static void tensor_equals_itself_without_reading(void **state)
{
	struct organ_location a = tensor_in(state, "a", GGML_F32, long_ne, NULL), b = a;
	struct tensor_difference d;

	b.file = backing_open(in_temp(state, "a").text, NULL);
	must(b.file);
	assert_true(tensor_difference_is_none(&a, &b));
	/* The tensor is unreadable now. */
	must(truncate(in_temp(state, "a").text, 10) == 0);
	d = compare(&a, &b, SAMPLE_DEFAULT);
	assert_true(d.same && d.cosine == 1);
	b.offset += 4;
	b.organ.ne[1]--;
	assert_false(tensor_difference_is_none(&a, &b));
	backing_unref(b.file);
	b = a;
	b.organ.type = GGML_I32;
	assert_false(tensor_difference_is_none(&a, &b));
	backing_unref(a.file);
}

static void failed_comparison_has_a_reason(void **state)
{
	struct organ_location a = tensor_in(state, "a", GGML_F32, long_ne, NULL);
	struct organ_location b = tensor_in(state, "b", GGML_F32, other_ne, NULL), gone = a;
	struct tensor_difference d = compare(&a, NULL, SAMPLE_DEFAULT);

	assert_int_equal(d.status, DIFFERENCE_ONLY_HERE);
	assert_true(isnan(d.cosine) && isnan(d.relative) && isnan(d.largest) && isnan(d.theta));
	assert_int_equal(compare(NULL, &a, SAMPLE_DEFAULT).status, DIFFERENCE_ONLY_THERE);
	assert_int_equal(compare(&a, &b, SAMPLE_DEFAULT).status, DIFFERENCE_SHAPE);
	gone.file = NULL;
	assert_int_equal(compare(&a, &gone, SAMPLE_DEFAULT).status, DIFFERENCE_MISSING);
	backing_unref(b.file);
	b = tensor_in(state, "b", 4000000000u, long_ne, NULL);
	assert_int_equal(compare(&a, &b, SAMPLE_DEFAULT).status, DIFFERENCE_UNDECODED);
	b.organ.type = GGML_F32 + TYPE_SHORT;
	assert_int_equal(compare(&a, &b, SAMPLE_DEFAULT).status, DIFFERENCE_SHORT);
	b.organ.type = 4000000000u;
	/* Tensors of an unknown type are compared by their bytes. */
	assert_true(compare(&b, &b, SAMPLE_DEFAULT).same);
	backing_unref(a.file);
	backing_unref(b.file);
}

static void values_that_are_not_finite_are_left_out(void **state)
{
	const size_t n = 256 * 1000;
	float *values = bells(n, 5);
	struct organ_location a = tensor_in(state, "a", GGML_F32, long_ne, values), b;
	struct tensor_difference d;

	values[0] = NAN;
	b = tensor_in(state, "b", GGML_F32, long_ne, values);
	d = compare(&a, &b, SAMPLES_ALL);
	assert_int_equal(d.status, DIFFERENCE_NONFINITE);
	assert_true(fabs(d.cosine - 1) < 1e-12 && d.relative == 0 && !d.same);
	backing_unref(a.file);
	backing_unref(b.file);
	free(values);
}

static void a_file_that_shrinks_is_an_error(void **state)
{
	float *values = bells(256 * 1000, 5);
	struct organ_location a = tensor_in(state, "a", GGML_F32, long_ne, values);
	struct organ_location b = tensor_in(state, "b", GGML_F32, long_ne, values);
	struct tensor_difference d;

	must(truncate(in_temp(state, "b").text, 5000) == 0);
	assert_int_equal(tensor_difference(&a, &b, SAMPLE_DEFAULT, &no_halt, &d), -EIO);
	b.organ.type = GGML_I32;
	assert_int_equal(tensor_difference(&a, &b, SAMPLE_DEFAULT, &no_halt, &d), -EIO);
	assert_int_equal(tensor_difference(&a, &b, SAMPLES_ALL, &no_halt, &d), -EIO);
	backing_unref(a.file);
	backing_unref(b.file);
	free(values);
}

static void stop_ends_the_comparison(void **state)
{
	const atomic_bool stop = true;
	const struct halt halt = { .reader = &stop };
	struct organ_location a = tensor_in(state, "a", GGML_F32, long_ne, NULL);
	struct organ_location b = tensor_in(state, "b", GGML_F32, long_ne, NULL);
	struct tensor_difference d;

	assert_int_equal(tensor_difference(&a, &b, SAMPLE_DEFAULT, &halt, &d), -EINTR);
	b.organ.type = GGML_I32;
	assert_int_equal(tensor_difference(&a, &b, SAMPLE_DEFAULT, &halt, &d), -EINTR);
	assert_int_equal(tensor_difference(&a, &b, SAMPLES_ALL, &halt, &d), -EINTR);
	backing_unref(a.file);
	backing_unref(b.file);
}

static void out_of_memory_is_reported(void **state)
{
	static const uint64_t samples[] = { SAMPLE_DEFAULT, SAMPLES_ALL };
	struct organ_location a, b;
	float *values;

	needs_failing_allocations();
	values = bells(256 * 1000, 5);
	a = tensor_in(state, "a", GGML_F32, long_ne, values);
	values[256 * 1000 - 1] += 1;
	b = tensor_in(state, "b", GGML_F32, long_ne, values);
	for (size_t i = 0; i < ARRAY_LENGTH(samples); i++)
		for (uint64_t k = 1;; k++) {
			struct tensor_difference d;
			int rc;

			allocation_fails(k);
			rc = tensor_difference(&a, &b, samples[i], &no_halt, &d);
			if (!allocation_failed()) {
				assert_int_equal(rc, 0);
				break;
			}
			assert_int_equal(rc, -ENOMEM);
		}
	backing_unref(a.file);
	backing_unref(b.file);
	free(values);
}

UNIT_MAIN(temp_setup, temp_teardown)
