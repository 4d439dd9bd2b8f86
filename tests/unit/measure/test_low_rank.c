/* SPDX-License-Identifier: MIT */
/* test_low_rank.c - measure/low_rank.c: singular values against numpy.linalg.svd, properties of
 * the factors, and matrices without factors. */
#include "measure/low_rank.h"
#include "tests/unit/unit.h"

#include <math.h>

struct matrix {
	size_t rows, columns;
	float *values;
	unsigned reads; /* the read that fails; 0: none */
	int error;
};

static int read_rows(void *context, size_t first, size_t n, float *values)
{
	struct matrix *m = context;

	assert_true(n > 0 && first + n <= m->rows);
	if (m->reads && --m->reads == 0)
		return m->error;
	memcpy(values, m->values + first * m->columns, n * m->columns * sizeof(float));
	return 0;
}

static struct matrix matrix_of(size_t rows, size_t columns, float (*value)(size_t i, size_t j))
{
	struct matrix m = { .rows = rows, .columns = columns };

	m.values = malloc(rows * columns * sizeof(*m.values));
	assert_non_null(m.values);
	for (size_t i = 0; i < rows; i++)
		for (size_t j = 0; j < columns; j++)
			m.values[i * columns + j] = value(i, j);
	return m;
}

static struct low_rank_source source_of(struct matrix *m)
{
	return (struct low_rank_source){ m->rows, m->columns, read_rows, NULL, m };
}

static struct low_rank found(struct matrix *m, size_t rank)
{
	const struct low_rank_source source = source_of(m);
	struct low_rank result;

	assert_int_equal(low_rank_find(&source, rank, &result), 0);
	return result;
}

/* Share of the energy in the residual of B A. */
static double left(const struct matrix *m, const struct low_rank *result)
{
	double sum = 0;

	for (size_t i = 0; i < m->rows; i++)
		for (size_t j = 0; j < m->columns; j++) {
			double value = (double)m->values[i * m->columns + j];

			for (size_t k = 0; k < result->rank; k++)
				value -= (double)result->b[i * result->rank + k] *
					 (double)result->a[k * m->columns + j];
			sum += value * value;
		}
	return sum / result->energy;
}

static double kept(const struct low_rank *result)
{
	double sum = 0;

	for (size_t k = 0; k < result->rank; k++)
		sum += result->squares[k];
	return sum / result->energy;
}

static float small(size_t i, size_t j)
{
	return (float)((int)((i * 7 + j * 13 + i * j * 3) % 17) - 8);
}

static float large(size_t i, size_t j)
{
	return ldexpf((float)((int)((i * i * 7 + j * j * 13 + i * j * 3) % 23) - 11),
		      -(int)(j / 4));
}

static float of_rank_three(size_t i, size_t j)
{
	const float x = (float)(i % 11) - 5, y = (float)(j % 13) - 6;

	return x * y + 3 * (float)(i % 2) * y * y - 0.25f * x * x * (float)(j % 3);
}

static float noise(size_t i, size_t j)
{
	return (float)((i * 7919 + j * 104729 + i * j * 31) % 1009) / 1009 - 0.5f;
}

static float zero(size_t i, size_t j)
{
	(void)i;
	(void)j;
	return 0;
}

static void singular_values_are_those_of_numpy(void **state)
{
	static const double smaller[] = { 24.8870268612, 22.1794435139, 20.888521926,
					  20.0213336313, 16.5935644432, 15.1544605121,
					  12.8240251655, 8.6165626363,	5.9849146476 };
	static const double larger[] = {
		86.7085057261, 66.0491836449, 54.8283022107, 50.3960288525,
		38.2353415733, 33.6250845433, 32.1252425684, 27.7964151583
	};
	struct matrix m = matrix_of(12, 9, small);
	struct low_rank result = found(&m, 9);

	(void)state;
	for (size_t k = 0; k < ARRAY_LENGTH(smaller); k++)
		assert_true(fabs(sqrt(result.squares[k]) / smaller[k] - 1) < 1e-10);
	low_rank_release(&result);
	free(m.values);
	m = matrix_of(90, 60, large);
	result = found(&m, 8);
	assert_true(fabs(result.energy / 22786.070589978248 - 1) < 1e-12);
	for (size_t k = 0; k < ARRAY_LENGTH(larger); k++)
		assert_true(fabs(sqrt(result.squares[k]) / larger[k] - 1) < 1e-5);
	low_rank_release(&result);
	free(m.values);
}

/* Matrices have fewer and more rows and columns than are drawn, and partial blocks. */
static void residual_is_the_part_not_kept(void **state)
{
	static const size_t shapes[][3] = { { 1, 1, 1 },     { 1, 40, 3 },    { 40, 1, 3 },
					    { 100, 33, 8 },  { 33, 100, 8 },  { 300, 20, 64 },
					    { 20, 300, 64 }, { 129, 257, 17 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(shapes); i++) {
		const size_t *shape = shapes[i];
		const size_t least = shape[0] < shape[1] ? shape[0] : shape[1];
		struct matrix m = matrix_of(shape[0], shape[1], noise);
		struct low_rank result = found(&m, shape[2]);

		assert_int_equal(result.rank, shape[2] < least ? shape[2] : least);
		assert_int_equal(result.nonfinite, 0);
		assert_true(fabs(1 - kept(&result) - left(&m, &result)) < 1e-6);
		if (result.rank == least)
			assert_true(left(&m, &result) < 1e-12);
		low_rank_release(&result);
		free(m.values);
	}
}

static void a_matrix_of_low_rank_is_found_whole(void **state)
{
	struct matrix m = matrix_of(400, 150, of_rank_three);

	(void)state;
	for (size_t rank = 1; rank <= 16; rank = rank < 4 ? rank + 1 : rank * 2) {
		struct low_rank result = found(&m, rank);

		if (rank >= 3)
			assert_true(left(&m, &result) < 1e-12 && kept(&result) > 1 - 1e-12);
		else
			assert_true(kept(&result) < 0.999);
		for (size_t k = 3; k < rank; k++)
			assert_true(result.squares[k] == 0 && result.a[k * 150] == 0 &&
				    result.b[k] == 0);
		low_rank_release(&result);
	}
	free(m.values);
}

/* Columns of both factors are orthogonal; the length of each is the root of the singular value. */
static void factors_are_orthogonal_and_share_the_singular_values(void **state)
{
	struct matrix m = matrix_of(90, 60, large);
	struct low_rank result = found(&m, 5);

	(void)state;
	for (size_t x = 0; x < 5; x++)
		for (size_t y = 0; y < 5; y++) {
			const double golden = x == y ? sqrt(result.squares[x]) : 0;
			double a = 0, b = 0;

			for (size_t j = 0; j < 60; j++)
				a += (double)result.a[x * 60 + j] * (double)result.a[y * 60 + j];
			for (size_t i = 0; i < 90; i++)
				b += (double)result.b[i * 5 + x] * (double)result.b[i * 5 + y];
			assert_true(fabs(a - golden) < 1e-5 * sqrt(result.squares[0]));
			assert_true(fabs(b - golden) < 1e-5 * sqrt(result.squares[0]));
		}
	low_rank_release(&result);
	free(m.values);
}

static void a_higher_rank_keeps_more(void **state)
{
	struct matrix m = matrix_of(200, 120, noise);
	double before = 0;

	(void)state;
	for (size_t rank = 1; rank <= 120; rank = rank < 8 ? rank + 1 : rank * 2) {
		struct low_rank result = found(&m, rank);

		assert_true(kept(&result) > before && kept(&result) < 1 + 1e-12);
		for (size_t k = 1; k < rank; k++)
			assert_true(result.squares[k] <= result.squares[k - 1]);
		before = kept(&result);
		low_rank_release(&result);
	}
	free(m.values);
}

static void result_is_deterministic(void **state)
{
	struct matrix m = matrix_of(150, 170, noise);
	struct low_rank one = found(&m, 12), other = found(&m, 12);

	(void)state;
	assert_memory_equal(one.a, other.a, 12 * 170 * sizeof(float));
	assert_memory_equal(one.b, other.b, 12 * 150 * sizeof(float));
	assert_memory_equal(one.squares, other.squares, 12 * sizeof(double));
	low_rank_release(&one);
	low_rank_release(&other);
	free(m.values);
}

static void assert_zeros(const struct matrix *m, const struct low_rank *result)
{
	for (size_t i = 0; i < result->rank * m->columns; i++)
		assert_true(result->a[i] == 0);
	for (size_t i = 0; i < result->rank * m->rows; i++)
		assert_true(result->b[i] == 0);
	for (size_t k = 0; k < result->rank; k++)
		assert_true(result->squares[k] == 0);
}

static void zeros_have_factors_of_zeros(void **state)
{
	struct matrix m = matrix_of(50, 60, zero);
	struct low_rank result = found(&m, 4);

	(void)state;
	assert_int_equal(result.rank, 4);
	assert_true(result.energy == 0);
	assert_zeros(&m, &result);
	low_rank_release(&result);
	free(m.values);
}

static void non_finite_value_gives_zero_factors(void **state)
{
	static const size_t columns[] = { 60, 7 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(columns); i++) {
		struct matrix m = matrix_of(50, columns[i], noise);
		struct low_rank result;
		double energy = 0;

		m.values[5] = NAN;
		m.values[columns[i] * 50 - 1] = -INFINITY;
		for (size_t k = 0; k < 50 * columns[i]; k++)
			if (isfinite(m.values[k]))
				energy += (double)m.values[k] * (double)m.values[k];
		result = found(&m, 4);
		assert_int_equal(result.nonfinite, 2);
		assert_true(result.energy == energy);
		assert_zeros(&m, &result);
		low_rank_release(&result);
		free(m.values);
	}
}

static float huge(size_t i, size_t j)
{
	return (i + j) % 2 ? 3e38f : -3e38f;
}

static float tiny(size_t i, size_t j)
{
	return (i + j) % 2 ? 1e-30f : 0;
}

static void very_large_and_very_small_values_are_kept(void **state)
{
	float (*const values[])(size_t i, size_t j) = { huge, tiny };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(values); i++) {
		struct matrix m = matrix_of(70, 80, values[i]);
		struct low_rank result = found(&m, 2);

		assert_true(kept(&result) > 1 - 1e-12);
		assert_true(left(&m, &result) < 1e-10);
		low_rank_release(&result);
		free(m.values);
	}
}

static void rank_zero_gives_energy_alone(void **state)
{
	struct matrix m = matrix_of(12, 9, small);
	struct low_rank result = found(&m, 0);
	double energy = 0;

	(void)state;
	for (size_t i = 0; i < 12 * 9; i++)
		energy += (double)m.values[i] * (double)m.values[i];
	assert_true(result.rank == 0 && result.energy == energy);
	low_rank_release(&result);
	free(m.values);
}

static void an_error_of_any_read_is_the_result(void **state)
{
	struct matrix m = matrix_of(50, 60, noise);
	const struct low_rank_source source = source_of(&m);
	struct low_rank result;
	unsigned reads = 0;
	int rc;

	(void)state;
	m.error = -EIO;
	do {
		m.reads = ++reads;
		rc = low_rank_find(&source, 4, &result);
		assert_true(rc == 0 || (rc == -EIO && !result.a));
	} while (rc < 0);
	/* Each pass reads four blocks. */
	assert_int_equal(reads, 4 * (LOW_RANK_ITERATIONS + 1) + 1);
	low_rank_release(&result);
	free(m.values);
}

static bool is_wanted_yet(void *context)
{
	struct matrix *m = context;

	return m->error-- > 0;
}

static void unwanted_computation_ends(void **state)
{
	struct matrix m = matrix_of(20, 24, noise);
	struct low_rank_source source = source_of(&m);
	struct low_rank result;
	int asked = 0, rc;

	(void)state;
	source.wanted = is_wanted_yet;
	do {
		m.error = asked++;
		rc = low_rank_find(&source, 4, &result);
		assert_true(rc == 0 || rc == -EINTR);
	} while (rc < 0);
	assert_true(asked > 20);
	low_rank_release(&result);
	free(m.values);
}

static bool is_counted(void *context)
{
	++*(unsigned *)context;
	return true;
}

static int read_zeros_but_one(void *context, size_t first, size_t n, float *values)
{
	(void)context;
	memset(values, 0, 2 * n * sizeof(*values));
	values[0] = first == 0;
	return 0;
}

/* Two passes over a matrix of many rows and two columns leave nothing to find. */
static void rows_of_the_result_can_be_interrupted_as_reads_can(void **state)
{
	enum { BLOCKS = 100, ROWS = 16 * BLOCKS };
	unsigned asked = 0;
	const struct low_rank_source source = { ROWS, 2, read_zeros_but_one, is_counted, &asked };
	struct low_rank result;

	(void)state;
	assert_int_equal(low_rank_find(&source, 2, &result), 0);
	assert_true(asked >= 3 * BLOCKS);
	low_rank_release(&result);
}

static void memory_that_runs_out_is_an_error(void **state)
{
	struct matrix m;
	bool well = false;

	(void)state;
	needs_failing_allocations();
	m = matrix_of(50, 60, noise);
	for (uint64_t k = 1; !well; k++) {
		const struct low_rank_source source = source_of(&m);
		struct low_rank result;
		int rc;

		allocation_fails(k);
		rc = low_rank_find(&source, 4, &result);
		well = !allocation_failed();
		/* b keeps its size if there is no memory for a shorter one. */
		assert_true(rc == 0 || (rc == -ENOMEM && !well));
		low_rank_release(&result);
	}
	free(m.values);
}

UNIT_MAIN(NULL, NULL)
