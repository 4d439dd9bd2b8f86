/* SPDX-License-Identifier: MIT */
/* zinputs.c - see zinputs.h. */
#include "tests/unit/zinputs.h"

double lcg(uint32_t *state)
{
	*state = 1664525u * *state + 1013904223u;
	return (double)(*state >> 8) / 16777216.0;
}

double bell(uint32_t *state)
{
	double sum = 0.0;

	for (int i = 0; i < 12; i++)
		sum += lcg(state);
	return sum - 6.0;
}

static double laplace_quantile(double u)
{
	const double c = u - 0.5;

	return c < 0.0 ? log1p(-2.0 * -c) : -log1p(-2.0 * c);
}

bool begins(const char *name, const char *prefix)
{
	/* Each value asks this, and one letter tells most names apart. */
	return name[0] == prefix[0] && strncmp(name, prefix, strlen(prefix)) == 0;
}

/* Golden inputs that use random numbers. */
static double golden_draw(const char *name, size_t i, uint32_t *state)
{
	if (begins(name, "lcg_4096_with_42_nonfinite")) {
		const double value = lcg(state);

		return i % 100 == 0 ? (double)NAN : i == 5 ? (double)INFINITY : value;
	}
	if (begins(name, "lcg_uniform"))
		return lcg(state);
	if (begins(name, "irwinhall_round"))
		return floor(bell(state) / 0.5 + 0.5) * 0.5;
	if (begins(name, "peaked_norm"))
		return 0.4 + 0.02 * bell(state) + (i % 64 == 7 ? 0.5 : 0.0);
	return bell(state);
}

/* Golden inputs from formulas, among them distributions by their quantiles. */
static double golden_formula(const char *name, size_t i, size_t n)
{
	const double u = ((double)i + 0.5) / (double)n;

	if (begins(name, "ramp"))
		return (double)i / (double)n;
	if (begins(name, "logistic_q"))
		return log(u / (1.0 - u));
	if (begins(name, "laplace_q"))
		return laplace_quantile(u);
	if (begins(name, "t2_q"))
		return (2.0 * u - 1.0) / sqrt(2.0 * u * (1.0 - u));
	if (begins(name, "expo_q"))
		return -log1p(-u);
	if (begins(name, "alt_pm1"))
		return i % 2 ? -1.0 : 1.0;
	if (begins(name, "ternary"))
		return (double)(i % 3) - 1.0;
	if (begins(name, "onehot"))
		return i == 1234;
	if (begins(name, "sine"))
		return sin(2.0 * acos(-1.0) * 64.0 * (double)i / (double)n);
	return begins(name, "const") ? 0.5 : 0.0;
}

float *new_values(size_t n)
{
	float *values = malloc(n * sizeof(*values));

	if (!values)
		abort();
	return values;
}

void shuffle(float *values, size_t n)
{
	const size_t a = (((1664525 % n) | 1) & ~(size_t)3) | 1, c = (1013904223 % n) | 1;
	float *from = new_values(n);

	memcpy(from, values, n * sizeof(*from));
	for (size_t i = 0, p = 0; i < n; i++, p = (a * p + c) % n)
		values[i] = from[p];
	free(from);
}

/* Random kinds with a continuous law, except for holes. They and the kinds below use only
 * operations that every machine rounds alike. u is uniform, b a bell. */
static double random_smooth(const char *kind, double u, double b, double place)
{
	if (begins(kind, "uniform"))
		return u;
	if (begins(kind, "cubed"))
		return b * b * b;
	if (begins(kind, "heavy"))
		return b / (u * u + 1e-6);
	if (begins(kind, "skew"))
		return u < 0.5 ? 0.001 * b : b * b;
	if (begins(kind, "trend"))
		return place + b;
	if (begins(kind, "offset"))
		return 1000.0 + b;
	if (begins(kind, "tiny"))
		return b * 0x1p-140;
	if (begins(kind, "huge"))
		return b * 0x1p120;
	if (begins(kind, "holes"))
		return u < 0.02 ? (double)NAN : u < 0.03 ? -(double)INFINITY : b;
	return b;
}

/* Random kinds with ties, and one with an outlier. */
static double random_value(const char *kind, size_t i, size_t n, uint32_t *state)
{
	const double u = lcg(state), b = bell(state);

	if (begins(kind, "grid"))
		return floor(b * 4.0 + 0.5) / 4.0;
	if (begins(kind, "coarse"))
		return floor(b + 0.5);
	if (begins(kind, "sparse"))
		return u < 0.1 ? b : 0.0;
	if (begins(kind, "almost"))
		return u < 0.0015 ? b : 0.25;
	if (begins(kind, "zeros"))
		return u < 0.3 ? -0.0 : u < 0.6 ? 0.0 : b;
	if (begins(kind, "outlier"))
		return i == n / 3 ? 1e30 : b;
	return random_smooth(kind, u, b, 3.0 * (double)i / (double)n);
}

float *golden_input(const char *name, size_t n)
{
	const bool drawn = begins(name, "lcg") || begins(name, "irwin") || begins(name, "peaked");
	float *values = new_values(n);
	uint32_t state = 935;

	for (size_t i = 0; i < n; i++)
		values[i] =
			(float)(drawn ? golden_draw(name, i, &state) : golden_formula(name, i, n));
	if (strstr(name, "_shuf"))
		shuffle(values, n);
	return values;
}

float *random_input(const char *name, size_t n)
{
	const char *dash = strchr(name, '-');
	float *values = new_values(n);
	uint32_t state;

	if (!dash)
		abort();
	state = (uint32_t)strtoul(dash + 1, NULL, 10);
	for (size_t i = 0; i < n; i++)
		values[i] = (float)random_value(name, i, n, &state);
	return values;
}

FILE *ztable_open(const char *path)
{
	FILE *table = fopen(path, "r");
	char line[300];

	if (!table || !fgets(line, sizeof(line), table))
		abort();
	return table;
}

bool ztable_next(FILE *table, struct zrow *row)
{
	char line[300], magnitude[32];
	double *x = row->numbers;

	if (!fgets(line, sizeof(line), table))
		return false;
	if (sscanf(line,
		   "%63[^\t]\t%llu\t%llu\t%llu\t%15s\t%lf\t%lf\t%lf\t%lf\t%lf\t%lf\t%lf\t%lf\t%31s",
		   row->name, &row->n, &row->sampled, &row->nonfinite, row->status, &x[0], &x[1],
		   &x[2], &x[3], &x[4], &x[5], &x[6], &x[7], magnitude) != 14)
		abort();
	row->has_magnitude = strcmp(magnitude, "null") != 0;
	row->magnitude = row->has_magnitude ? strtod(magnitude, NULL) : 0.0;
	return true;
}
