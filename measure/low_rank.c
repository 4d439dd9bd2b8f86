/* SPDX-License-Identifier: MIT */
/* low_rank.c - see low_rank.h. */
#include "low_rank.h"

#include "jacobi.h"
#include "merge_random.h"
#include "narrow.h"
#include "orthonormal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* rows that are read and multiplied at a time; results do not depend on it */
#define BLOCK_ROWS   16u
#define BLOCK_VALUES ((size_t)1 << 18)

/* squared singular values below this part of the largest are rounding errors */
#define NOISE 1e-14

/* rows of a and b between two calls of wanted */
#define WANTED_ROWS 16u

#define SEED 0x6f7267616e667321u

/* State of the search. Matrices are stored in row order. */
struct low_rank_search {
	const struct low_rank_source *source;
	struct low_rank *result;
	bool counted; /* energy and nonfinite of the result are set */
	size_t rank;
	size_t width;  /* columns of q in use */
	size_t stride; /* row length of q, next, part: width in whole strips */
	size_t block;  /* rows that are read at a time */
	float *rows;   /* the rows of a block */
	double *q;     /* columns x stride */
	double *next;  /* as many: D' D q */
	double *part;  /* block x stride: D q of the block */
	double *gram;  /* stride x stride: the Gram matrix of D q */
	double *vectors, *values, *scratch;
	size_t *order;
	double length; /* square root of the energy, an upper bound for the values of D q */
	float *y;      /* rows x stride: D q / length, later b */
};

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static void *array(size_t n, size_t m, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, m, &bytes) || __builtin_mul_overflow(bytes, size, &bytes))
		return NULL;
	return calloc(1, bytes + 1);
}

static void release_search(struct low_rank_search *s)
{
	free(s->rows);
	free(s->q);
	free(s->next);
	free(s->part);
	free(s->gram);
	free(s->vectors);
	free(s->values);
	free(s->scratch);
	free(s->order);
	free(s->y);
}

/* Allocate. False: out of memory. release_search() has to follow in both cases. */
static bool begin_search(struct low_rank_search *s, const struct low_rank_source *source,
			 size_t rank, struct low_rank *result)
{
	const size_t full = least(source->rows, source->columns);

	*s = (struct low_rank_search){ .source = source,
				       .rank = least(rank, full),
				       .result = result };
	s->block = source->columns ? BLOCK_VALUES / source->columns : 1;
	if (s->rank)
		s->block = least(s->block, BLOCK_ROWS);
	s->block += s->block == 0;
	s->rows = array(s->block, source->columns, sizeof(*s->rows));
	if (s->rank == 0)
		return s->rows;
	s->stride =
		(s->rank + LOW_RANK_OVERSAMPLING + NARROW_STRIP - 1) / NARROW_STRIP * NARROW_STRIP;
	s->width = least(s->stride, full);
	s->stride = (s->width + NARROW_STRIP - 1) / NARROW_STRIP * NARROW_STRIP;
	s->q = array(source->columns, s->stride, sizeof(*s->q));
	s->next = array(source->columns, s->stride, sizeof(*s->next));
	s->part = array(s->block, s->stride, sizeof(*s->part));
	s->gram = array(s->stride, s->stride, sizeof(*s->gram));
	s->vectors = array(s->stride, s->stride, sizeof(*s->vectors));
	s->values = array(s->stride, 1, sizeof(*s->values));
	s->scratch = array(s->stride, 2, sizeof(*s->scratch));
	s->order = array(s->stride, 1, sizeof(*s->order));
	s->y = array(source->rows, s->stride, sizeof(*s->y));
	return s->rows && s->q && s->next && s->part && s->gram && s->vectors && s->values &&
	       s->scratch && s->order && s->y;
}

/* Initialise q: the unit matrix if it has all columns, else pseudo-random numbers. */
static void draw(struct low_rank_search *s)
{
	const size_t columns = s->source->columns;
	const bool all = s->width == columns;

	for (size_t i = 0; i < columns; i++)
		for (size_t k = 0; k < s->width; k++) {
			const uint32_t chance = merge_random(i * s->width + k, SEED);

			s->q[i * s->stride + k] =
				all ? i == k : (chance + 0.5) / (MERGE_RANDOM_END / 2) - 1;
		}
}

/* Add the block's products of columns to the Gram matrix. */
static void add_products(struct low_rank_search *s, size_t n)
{
	for (size_t r = 0; r < n; r++) {
		const double *part = s->part + r * s->stride;

		for (size_t j = 0; j < s->width; j++)
			for (size_t k = 0; k < s->width; k++)
				s->gram[j * s->width + k] += part[j] * part[k];
	}
}

static void keep(struct low_rank_search *s, size_t first, size_t n)
{
	for (size_t i = 0; i < n * s->stride; i++)
		s->y[first * s->stride + i] = (float)(s->part[i] / s->length);
}

static void count(const float *values, size_t n, struct low_rank *result)
{
	for (size_t i = 0; i < n; i++) {
		const double value = (double)values[i];

		if (isfinite(value))
			result->energy += value * value;
		else
			result->nonfinite++;
	}
}

static bool is_wanted(const struct low_rank_search *s)
{
	return !s->source->wanted || s->source->wanted(s->source->context);
}

/* Called when n rows have been read. */
typedef void (*use_rows)(struct low_rank_search *s, size_t first, size_t n);

static void use_none(struct low_rank_search *s, size_t first, size_t n)
{
	(void)s;
	(void)first;
	(void)n;
}

/* part = D q, for n rows. */
static void project(struct low_rank_search *s, size_t n)
{
	narrow_multiply(s->rows, n, s->source->columns, s->q, s->stride, s->part);
}

static void use_power(struct low_rank_search *s, size_t first, size_t n)
{
	(void)first;
	project(s, n);
	narrow_add_back(s->rows, n, s->source->columns, s->part, s->stride, s->next);
}

static void use_last(struct low_rank_search *s, size_t first, size_t n)
{
	project(s, n);
	add_products(s, n);
	keep(s, first, n);
}

/* Run a pass. The first one also computes energy and nonfinite. */
static int run_pass(struct low_rank_search *s, use_rows use)
{
	const struct low_rank_source *source = s->source;

	for (size_t first = 0; first < source->rows; first += s->block) {
		const size_t n = least(s->block, source->rows - first);
		const int rc =
			is_wanted(s) ? source->read(source->context, first, n, s->rows) : -EINTR;

		if (rc < 0)
			return rc;
		if (!s->counted)
			count(s->rows, n * source->columns, s->result);
		use(s, first, n);
	}
	s->counted = true;
	return 0;
}

/* Can the matrix be factorised: finite and not zero? */
static bool is_something(const struct low_rank_search *s)
{
	return s->result->energy > 0 && s->result->nonfinite == 0;
}

/* Subspace iteration: q spans more and more of the dominant singular vectors. */
static int iterate(struct low_rank_search *s)
{
	const size_t size = s->source->columns * s->stride;
	double *was = s->q;
	int rc;

	memset(s->next, 0, size * sizeof(*s->next));
	rc = run_pass(s, use_power);
	s->q = s->next;
	s->next = was;
	if (rc == 0 && is_something(s) &&
	    !orthonormalise(s->q, s->source->columns, s->stride, s->scratch, s->source->wanted,
			    s->source->context))
		rc = -EINTR;
	return rc;
}

/* Multiply a row by the first eigenvectors. */
static void turn(const struct low_rank_search *s, const double *row, double *out)
{
	memset(out, 0, s->rank * sizeof(*out));
	for (size_t j = 0; j < s->width; j++) {
		const double *vector = s->vectors + j * s->width;

		for (size_t k = 0; k < s->rank; k++)
			out[k] += row[j] * vector[k];
	}
}

/* D is approximately (D q V) (q V)', where the columns of the first factor have the singular values
 * as norms. Each factor gets the square roots. False: no longer wanted. */
static bool fill_a(const struct low_rank_search *s, const double *roots)
{
	const size_t columns = s->source->columns;
	double *out = s->scratch;

	for (size_t i = 0; i < columns; i++) {
		if (i % WANTED_ROWS == 0 && !is_wanted(s))
			return false;
		turn(s, s->q + i * s->stride, out);
		for (size_t k = 0; k < s->rank; k++)
			s->result->a[k * columns + i] = (float)(out[k] * roots[k]);
	}
	return true;
}

/* Compute b in place: a row of b is not longer than one of y. */
static bool fill_b(const struct low_rank_search *s, const double *roots)
{
	double *out = s->scratch, *row = out + s->stride;

	for (size_t i = 0; i < s->source->rows; i++) {
		if (i % WANTED_ROWS == 0 && !is_wanted(s))
			return false;
		for (size_t j = 0; j < s->width; j++)
			row[j] = s->length * (double)s->y[i * s->stride + j];
		turn(s, row, out);
		for (size_t k = 0; k < s->rank; k++)
			s->y[i * s->rank + k] = roots[k] > 0 ? (float)(out[k] / roots[k]) : 0.0f;
	}
	return true;
}

static bool fill(struct low_rank_search *s)
{
	double *roots = s->values;

	for (size_t k = 0; k < s->rank; k++) {
		const double square = s->values[k];

		s->result->squares[k] = square > NOISE * s->values[0] ? square : 0;
	}
	for (size_t k = 0; k < s->rank; k++)
		roots[k] = sqrt(sqrt(s->result->squares[k]));
	return fill_a(s, roots) && fill_b(s, roots);
}

static int search(struct low_rank_search *s)
{
	const unsigned times = s->width == s->source->columns ? 0 : LOW_RANK_ITERATIONS;
	int rc;

	draw(s);
	rc = times ? iterate(s) : run_pass(s, use_none);
	if (rc < 0 || !is_something(s))
		return rc;
	for (unsigned i = 1; rc == 0 && i < times; i++)
		rc = iterate(s);
	s->length = sqrt(s->result->energy);
	if (rc == 0)
		rc = run_pass(s, use_last);
	if (rc < 0)
		return rc;
	if (!jacobi_eigen(s->gram, s->width, s->values, s->vectors, s->order, s->source->wanted,
			  s->source->context) ||
	    !fill(s))
		return -EINTR;
	return 0;
}

/* Give y, shortened to b, to the result. */
static void give_b(struct low_rank_search *s)
{
	float *shorter = realloc(s->y, s->source->rows * s->rank * sizeof(*s->y) + 1);

	s->result->b = shorter ? shorter : s->y;
	s->y = NULL;
}

static int find(struct low_rank_search *s)
{
	struct low_rank *result = s->result;
	int rc;

	if (s->rank == 0)
		return run_pass(s, use_none);
	result->rank = s->rank;
	result->a = array(s->rank, s->source->columns, sizeof(*result->a));
	result->squares = array(s->rank, 1, sizeof(*result->squares));
	if (!result->a || !result->squares)
		return -ENOMEM;
	rc = search(s);
	if (rc == 0)
		give_b(s);
	return rc;
}

int low_rank_find(const struct low_rank_source *source, size_t rank, struct low_rank *result)
{
	struct low_rank_search s;
	int rc = -ENOMEM;

	*result = (struct low_rank){ .rank = 0 };
	if (begin_search(&s, source, rank, result))
		rc = find(&s);
	release_search(&s);
	if (rc < 0)
		low_rank_release(result);
	return rc;
}

void low_rank_release(struct low_rank *result)
{
	free(result->a);
	free(result->b);
	free(result->squares);
	*result = (struct low_rank){ .rank = 0 };
}
