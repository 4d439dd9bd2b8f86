/* SPDX-License-Identifier: MIT */
/* purified.h - rows for the purifiers, the table of what becomes of some of them
 * (golden_purify.tsv, computed in NumPy in double precision, independently of measure/), and what
 * holds for every purifier. */
#ifndef TESTS_UNIT_PURIFIED_H
#define TESTS_UNIT_PURIFIED_H

#include "tests/unit/unit.h"
#include "tests/unit/zinputs.h"

#include <float.h>

/* What is tested: a row of n values, with the parameter that is said to be usual, or with another.
 * Makes its context and gives it back. */
typedef bool purify_row(const float *x, size_t n, float *y, double parameter);

/* Lengths of every kind: powers of two, odd, prime, smooth, with large and with several factors. */
static const size_t purify_lengths[] = { 4,   5,   6,	 7,    8,    9,	   16,	 31,   63,
					 64,  100, 127,	 128,  129,  255,  256,	 257,  288,
					 513, 576, 1009, 1536, 2310, 4096, 5003, 11008 };

static inline double purify_formula(const char *name, size_t i, size_t n, uint32_t *state)
{
	const double wave = sin(2.0 * acos(-1.0) * 8.0 * (double)i / (double)n);

	if (begins(name, "lcg"))
		return lcg(state) - 0.5;
	if (begins(name, "sine8_plus_lcg"))
		return wave + 0.2 * (lcg(state) - 0.5);
	if (begins(name, "sine8"))
		return wave;
	if (begins(name, "step"))
		return i < 1300 ? -1.0 : 1.0;
	if (begins(name, "spike"))
		return i == 1234;
	if (begins(name, "alt"))
		return i % 2 ? -1.0 : 1.0;
	return (double)i / (double)n;
}

/* A row of the table, in memory from malloc(). Its name ends in its length. */
static inline float *purify_input(const char *name, size_t *n)
{
	uint32_t state = 935;
	float *x;

	*n = strtoul(strrchr(name, '_') + 1, NULL, 10);
	x = new_values(*n);
	for (size_t i = 0; i < *n; i++)
		x[i] = (float)purify_formula(name, i, *n, &state);
	return x;
}

/* Bells of this height about a mean, in memory from malloc(). */
static inline float *bells(size_t n, uint32_t seed, double height, double mean)
{
	float *x = new_values(n);

	for (size_t i = 0; i < n; i++)
		x[i] = (float)(mean + height * bell(&seed));
	return x;
}

static inline double mean_of(const float *x, size_t n)
{
	double sum = 0.0;

	for (size_t i = 0; i < n; i++)
		sum += (double)x[i];
	return sum / (double)n;
}

/* The mean of the products of two rows' distances from their means. */
static inline double covariance(const float *x, const float *y, size_t n)
{
	const double mx = mean_of(x, n), my = mean_of(y, n);
	double sum = 0.0;

	for (size_t i = 0; i < n; i++)
		sum += ((double)x[i] - mx) * ((double)y[i] - my);
	return sum / (double)n;
}

static inline double deviation(const float *x, size_t n)
{
	return sqrt(covariance(x, x, n));
}

static inline double correlation(const float *x, const float *y, size_t n)
{
	return covariance(x, y, n) / (deviation(x, n) * deviation(y, n));
}

/* Relative to the deviation of x. */
static inline double distance(const float *x, const float *y, size_t n)
{
	double sum = 0.0;

	for (size_t i = 0; i < n; i++)
		sum += ((double)x[i] - (double)y[i]) * ((double)x[i] - (double)y[i]);
	return sqrt(sum / (double)n) / deviation(x, n);
}

static inline void assert_close(double value, double expected, double tolerance, const char *what)
{
	if (!(fabs(value - expected) <= tolerance))
		fail_msg("%s: %.9g, expected %.9g", what, value, expected);
}

/* Columns rel_l2 to the weighted sum. */
static inline void check_purified(const char *name, const float *x, const float *y, size_t n,
				  const double *golden)
{
	double sum = 0.0;

	for (size_t i = 0; i < n; i++)
		sum += (double)y[i] * ((double)(i % 7) - 3.0);
	assert_close(distance(x, y, n), golden[0], 1e-6, name);
	assert_close(correlation(x, y, n), golden[1], 1e-6, name);
	/* All frequencies of a spike have the same energy: rounding chooses. */
	if (begins(name, "spike"))
		return;
	assert_close((double)y[0], golden[2], 1e-6, name);
	assert_close((double)y[1], golden[3], 1e-6, name);
	assert_close((double)y[n / 2], golden[4], 1e-6, name);
	assert_close((double)y[n - 1], golden[5], 1e-6, name);
	assert_close(sum, golden[6], 1e-4, name);
}

/* The lines of the table with this method; a row where nothing changes is the same to the bit. */
static inline void check_golden(const char *method, purify_row *purify, double usual)
{
	FILE *table = ztable_open("tests/unit/golden_purify.tsv");
	char line[300], name[64], found[8];
	unsigned long changed;
	double fraction, golden[7];
	size_t lines = 0, n;

	while (fgets(line, sizeof(line), table)) {
		float *x, *y;

		assert_int_equal(sscanf(line, "%63s %7s %lu %lf %lf %lf %lf %lf %lf %lf %lf", name,
					found, &changed, &fraction, &golden[0], &golden[1],
					&golden[2], &golden[3], &golden[4], &golden[5], &golden[6]),
				 11);
		if (strcmp(found, method) != 0)
			continue;
		x = purify_input(name, &n);
		y = new_values(n);
		assert_int_equal(purify(x, n, y, usual), changed > 0);
		check_purified(name, x, y, n, golden);
		if (changed == 0)
			assert_memory_equal(x, y, n * sizeof(*x));
		free(x);
		free(y);
		lines++;
	}
	fclose(table);
	assert_int_equal(lines, 10);
}

/* Mean and deviation are kept, of rows of every length and scale, and the row changes. */
static inline void check_kept(purify_row *purify, double usual, double height, double mean)
{
	for (size_t l = 0; l < ARRAY_LENGTH(purify_lengths); l++) {
		const size_t n = purify_lengths[l];
		float *x = bells(n, (uint32_t)n, height, mean), *y = new_values(n);
		const double sd = deviation(x, n);
		const bool changed = purify(x, n, y, usual);

		assert_true(changed || n < 64);
		assert_close(mean_of(y, n), mean_of(x, n), 1e-6 * (sd + fabs(mean)), "mean");
		assert_close(deviation(y, n), sd, 1e-5 * sd, "deviation");
		assert_int_equal(changed, memcmp(x, y, n * sizeof(*x)) != 0);
		free(x);
		free(y);
	}
}

/* Purifying a x + b gives a y + b. For a power of two and its negative to the bit. */
static inline void check_affine(purify_row *purify, double usual)
{
	const size_t n = 1000;
	float *x = bells(n, 3, 1.0, 0.25), *y = new_values(n), *other = new_values(n);
	float *result = new_values(n);

	assert_true(purify(x, n, y, usual));
	for (size_t i = 0; i < n; i++)
		other[i] = -4.0f * x[i];
	assert_true(purify(other, n, result, usual));
	for (size_t i = 0; i < n; i++)
		assert_true(result[i] == -4.0f * y[i]);
	for (size_t i = 0; i < n; i++)
		other[i] = -3.0f * x[i] + 7.0f;
	assert_true(purify(other, n, result, usual));
	for (size_t i = 0; i < n; i++)
		assert_close((double)result[i], -3.0 * (double)y[i] + 7.0, 1e-5, "affine");
	free(x);
	free(y);
	free(other);
	free(result);
}

static inline void check_same(purify_row *purify, const float *x, size_t n, double parameter)
{
	float *y = new_values(n + 1), *place = new_values(n + 1);

	memcpy(place, x, n * sizeof(*x));
	y[n] = 935.0f;
	assert_false(purify(x, n, y, parameter));
	assert_memory_equal(x, y, n * sizeof(*x));
	assert_true(y[n] == 935.0f);
	assert_false(purify(place, n, place, parameter));
	assert_memory_equal(x, place, n * sizeof(*x));
	free(y);
	free(place);
}

/* Rows that stay as they are, the bits of a NaN and the signs of zeros with them. */
static inline void check_unchanged(purify_row *purify, double usual, double idle)
{
	static const uint32_t odd_bits[] = { 0x7fc12345, 0xffc00001, 0x7fa54321, 0x7f800000,
					     0xff800000 };
	float *x = bells(4096, 1, 1.0, 0.0);

	check_same(purify, x, 4096, idle);
	for (size_t n = 0; n < 4; n++)
		check_same(purify, x, n, usual);
	for (size_t i = 0; i < ARRAY_LENGTH(odd_bits); i++) {
		const float kept = x[700];

		memcpy(&x[700], &odd_bits[i], sizeof(float));
		check_same(purify, x, 4096, usual);
		check_same(purify, x, 701, usual);
		x[700] = kept;
	}
	for (size_t i = 0; i < 4096; i++)
		x[i] = i % 3 ? 0.0f : -0.0f;
	check_same(purify, x, 4096, usual);
	for (size_t i = 0; i < 4096; i++)
		x[i] = -0.1f;
	check_same(purify, x, 4095, usual);
	free(x);
}

/* A row may be purified where it is. */
static inline void check_in_place(purify_row *purify, double usual)
{
	for (size_t l = 0; l < ARRAY_LENGTH(purify_lengths); l++) {
		const size_t n = purify_lengths[l];
		float *x = bells(n, (uint32_t)n, 1.0, 0.0), *y = new_values(n);

		purify(x, n, y, usual);
		purify(x, n, x, usual);
		assert_memory_equal(x, y, n * sizeof(*x));
		free(x);
		free(y);
	}
}

/* The largest floats of all: finite ones come out, and where they cannot, the same. */
static inline void check_largest(purify_row *purify, double usual)
{
	const size_t n = 64;
	size_t changed = 0, same = 0;
	float x[64], y[64];

	for (uint32_t seed = 1; seed <= 200; seed++) {
		uint32_t state = seed;
		const float most = seed % 2 ? FLT_MAX : FLT_MAX / 2.0f;

		for (size_t i = 0; i < n; i++)
			x[i] = lcg(&state) < 0.5 ? -most : (float)lcg(&state) * most;
		if (purify(x, n, y, usual)) {
			changed++;
		} else {
			assert_memory_equal(x, y, sizeof(x));
			same++;
		}
		for (size_t i = 0; i < n; i++)
			assert_true(isfinite(y[i]));
	}
	assert_true(changed > 20 && same > 20);
}

#endif
