/* SPDX-License-Identifier: MIT */
/* purified.c - see purified.h. */
#include "tests/unit/purified.h"

static double purify_formula(const char *name, size_t i, size_t n, uint32_t *state)
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
static float *purify_input(const char *name, size_t *n)
{
	uint32_t state = 935;
	float *x;

	*n = strtoul(strrchr(name, '_') + 1, NULL, 10);
	x = new_values(*n);
	for (size_t i = 0; i < *n; i++)
		x[i] = (float)purify_formula(name, i, *n, &state);
	return x;
}

float *bells(size_t n, uint32_t seed, double height, double mean)
{
	float *x = new_values(n);

	for (size_t i = 0; i < n; i++)
		x[i] = (float)(mean + height * bell(&seed));
	return x;
}

double mean_of(const float *x, size_t n)
{
	double sum = 0.0;

	for (size_t i = 0; i < n; i++)
		sum += (double)x[i];
	return sum / (double)n;
}

/* Mean product of two rows' deviations. */
static double covariance(const float *x, const float *y, size_t n)
{
	const double mx = mean_of(x, n), my = mean_of(y, n);
	double sum = 0.0;

	for (size_t i = 0; i < n; i++)
		sum += ((double)x[i] - mx) * ((double)y[i] - my);
	return sum / (double)n;
}

double deviation(const float *x, size_t n)
{
	return sqrt(covariance(x, x, n));
}

double correlation(const float *x, const float *y, size_t n)
{
	return covariance(x, y, n) / (deviation(x, n) * deviation(y, n));
}

double distance(const float *x, const float *y, size_t n)
{
	double sum = 0.0;

	for (size_t i = 0; i < n; i++)
		sum += ((double)x[i] - (double)y[i]) * ((double)x[i] - (double)y[i]);
	return sqrt(sum / (double)n) / deviation(x, n);
}

void assert_close(double value, double expected, double tolerance, const char *what)
{
	if (!(fabs(value - expected) <= tolerance))
		fail_msg("%s: %.9g, expected %.9g", what, value, expected);
}

void check_purified(const char *name, const float *x, const float *y, size_t n,
		    const double *golden)
{
	double sum = 0.0;

	for (size_t i = 0; i < n; i++)
		sum += (double)y[i] * ((double)(i % 7) - 3.0);
	assert_close(distance(x, y, n), golden[0], 1e-6, name);
	assert_close(correlation(x, y, n), golden[1], 1e-6, name);
	/* All frequencies of a spike have equal energy, so rounding chooses. */
	if (begins(name, "spike"))
		return;
	assert_close((double)y[0], golden[2], 1e-6, name);
	assert_close((double)y[1], golden[3], 1e-6, name);
	assert_close((double)y[n / 2], golden[4], 1e-6, name);
	assert_close((double)y[n - 1], golden[5], 1e-6, name);
	assert_close(sum, golden[6], 1e-4, name);
}

void check_golden(const char *method, purify_row *purify, double usual)
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

void check_kept(purify_row *purify, double usual, double height, double mean)
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

void check_affine(purify_row *purify, double usual)
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

void check_same(purify_row *purify, const float *x, size_t n, double parameter)
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

void check_unchanged(purify_row *purify, double usual, double idle)
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

void check_in_place(purify_row *purify, double usual)
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

void check_largest(purify_row *purify, double usual)
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
