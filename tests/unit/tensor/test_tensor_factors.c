/* SPDX-License-Identifier: MIT */
/* test_tensor_factors.c - fs/tensor/tensor_factors.c: factors of decoded values, of any type and
 * of rows anywhere, against those of measure/low_rank.c. */
#include "fs/storage/backing.h"
#include "fs/storage/fd_cache.h"
#include "fs/tensor/tensor_factors.h"
#include "fs/util/halt.h"
#include "measure/low_rank.h"
#include "tests/unit/tensor_file.h"

#include <math.h>

static const struct halt no_halt;

/* A tensor in a file of that name, which can be revoked. */
static struct tensor_file tensor_named(void **state, const char *name, uint32_t type,
				       const uint64_t *ne)
{
	struct tensor_file tensor = new_tensor(state, name, type, 2, ne, NULL);

	struct fd_cache *set = fd_cache_new(2);

	must(set);
	backing_join_cache(tensor.located.file, set, FILE_USE_DONOR);
	fd_cache_unref(set);
	must(rename(in_temp(state, "tensor").text, in_temp(state, name).text) == 0);
	return tensor;
}

struct plain_rows {
	const float *here, *there;
	size_t columns;
};

static int read_plain(void *context, size_t first, size_t n, float *values)
{
	const struct plain_rows *rows = context;

	for (size_t i = 0; i < n * rows->columns; i++)
		values[i] = rows->there[first * rows->columns + i] -
			    rows->here[first * rows->columns + i];
	return 0;
}

static void assert_same_factors(const struct low_rank *x, const struct low_rank *y, size_t rows,
				size_t columns)
{
	assert_int_equal(x->rank, y->rank);
	assert_true(x->energy == y->energy);
	assert_int_equal(x->nonfinite, y->nonfinite);
	assert_memory_equal(x->a, y->a, x->rank * columns * sizeof(float));
	assert_memory_equal(x->b, y->b, x->rank * rows * sizeof(float));
}

/* The rows are long enough to be decoded in several parts. */
static void factors_are_those_of_the_decoded_values(void **state)
{
	static const uint64_t ne[] = { 6400, 17 };
	static const uint32_t types[] = { GGML_F32, GGML_F16, GGML_Q8_0, GGML_Q4_K };

	for (size_t i = 0; i < ARRAY_LENGTH(types); i++) {
		struct tensor_file here = tensor_named(state, "here", types[i], ne);
		struct tensor_file there = tensor_named(state, "there", GGML_F32, ne);
		const struct tensor_factors of = { &here.located, &there.located, 5, 12, 3, false };
		struct plain_rows plain = { here.values + 5 * 6400, there.values + 5 * 6400, 6400 };
		const struct low_rank_source source = { 12, 6400, read_plain, NULL, &plain };
		struct low_rank expected, result;

		assert_int_equal(low_rank_find(&source, 3, &expected), 0);
		assert_int_equal(tensor_factors(&of, &no_halt, &result), 0);
		assert_same_factors(&result, &expected, 12, 6400);
		low_rank_release(&result);
		low_rank_release(&expected);
		free_tensor(&here);
		free_tensor(&there);
	}
}

static void rank_zero_reads_a_row_in_parts(void **state)
{
	static const uint64_t ne[] = { (1 << 20) + 256, 1 };
	static const uint32_t types[] = { GGML_F32, GGML_Q4_K };

	for (size_t i = 0; i < ARRAY_LENGTH(types); i++) {
		struct tensor_file here = tensor_named(state, "here", types[i], ne);
		struct tensor_file there = tensor_named(state, "there", GGML_F32, ne);
		const struct tensor_factors of = { &here.located, &there.located, 0, 1, 0, false };
		struct low_rank result;
		double energy = 0;

		assert_int_equal(tensor_factors(&of, &no_halt, &result), 0);
		for (size_t k = 0; k < ne[0]; k++) {
			const double change = (double)(there.values[k] - here.values[k]);

			energy += change * change;
		}
		assert_true(result.energy == energy && result.rank == 0);
		low_rank_release(&result);
		free_tensor(&here);
		free_tensor(&there);
	}
}

/* The row exceeds the address space, so an allocation for it would fail. */
static void rank_zero_takes_a_row_of_any_length(void **state)
{
	static const uint64_t ne[] = { 64, 1 };
	const atomic_bool stop = true;
	struct tensor_file here = tensor_named(state, "here", GGML_F32, ne);
	const struct tensor_factors of = { &here.located, &here.located, 0, 1, 0, false };
	struct low_rank result;

	here.located.organ.ne[0] = (uint64_t)1 << 45;
	assert_int_equal(tensor_factors(&of, &(struct halt){ &stop, NULL }, &result), -EINTR);
	free_tensor(&here);
}

static void equal_tensors_are_not_read(void **state)
{
	static const uint64_t ne[] = { 64, 17 };
	struct tensor_file here = tensor_named(state, "here", GGML_F32, ne);
	const struct tensor_factors of = { &here.located, &here.located, 0, 17, 3, true };
	struct low_rank result;

	backing_revoke(here.located.file);
	assert_int_equal(tensor_factors(&of, &no_halt, &result), 0);
	assert_true(result.rank == 3 && result.energy == 0 && result.a[0] == 0);
	low_rank_release(&result);
	free_tensor(&here);
}

static void a_file_that_is_gone_or_changed_is_an_error(void **state)
{
	static const uint64_t ne[] = { 64, 17 };
	struct tensor_file here = tensor_named(state, "here", GGML_F32, ne);
	struct tensor_file there = tensor_named(state, "there", GGML_F16, ne);
	const struct tensor_factors of = { &here.located, &there.located, 0, 17, 3, false };
	struct low_rank result;

	change_times(state, "there");
	assert_int_equal(tensor_factors(&of, &no_halt, &result), -EIO);
	restore_times(state, "there");
	assert_int_equal(tensor_factors(&of, &no_halt, &result), 0);
	low_rank_release(&result);
	backing_revoke(here.located.file);
	assert_int_equal(tensor_factors(&of, &no_halt, &result), -EIO);
	free_tensor(&here);
	free_tensor(&there);
}

static void halted_computation_ends(void **state)
{
	static const uint64_t ne[] = { 64, 17 };
	const atomic_bool stop = true;
	const struct halt halts[] = { { &stop, NULL }, { NULL, &stop } };
	struct tensor_file here = tensor_named(state, "here", GGML_F32, ne);
	const struct tensor_factors of = { &here.located, &here.located, 0, 17, 3, false };
	struct low_rank result;

	for (size_t i = 0; i < ARRAY_LENGTH(halts); i++)
		assert_int_equal(tensor_factors(&of, &halts[i], &result), -EINTR);
	free_tensor(&here);
}

static void memory_that_runs_out_is_an_error(void **state)
{
	static const uint64_t ne[] = { 64, 17 };
	struct tensor_file here, there;
	struct tensor_factors of = { .rows = 17, .rank = 3 };
	bool well = false;

	needs_failing_allocations();
	here = tensor_named(state, "here", GGML_F32, ne);
	there = tensor_named(state, "there", GGML_F32, ne);
	of.here = &here.located;
	of.there = &there.located;
	for (uint64_t k = 1; !well; k++) {
		struct low_rank result;
		int rc;

		allocation_fails(k);
		rc = tensor_factors(&of, &no_halt, &result);
		well = !allocation_failed();
		assert_true(rc == 0 || (rc == -ENOMEM && !well));
		if (rc == 0)
			low_rank_release(&result);
	}
	free_tensor(&here);
	free_tensor(&there);
}

UNIT_MAIN(temp_setup, temp_teardown)
