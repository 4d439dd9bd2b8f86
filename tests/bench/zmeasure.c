/* SPDX-License-Identifier: MIT */
/* zmeasure.c - time of measuring one sampled tensor, the share of sorting in it, the time of
 * qsort() in its place, and the time of the exact pass over all values. Best of several runs. */
#include "measure/radix.h"
#include "measure/sample.h"
#include "measure/zmeasure.h"
#include "measure/zstream.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define VALUES (SAMPLE_DEFAULT / SAMPLE_SPAN * SAMPLE_SPAN)
#define RUNS   20

struct bench {
	float *values, *copy;
	uint32_t *scratch;
	struct zstream *stream;
	struct zmeasure result;
};

static double milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void run_measure(struct bench *b)
{
	zmeasure(b->values, VALUES, VALUES, b->scratch, &b->result);
}

static void run_sort(struct bench *b)
{
	radix_sort(b->values, VALUES, b->scratch, b->scratch + VALUES);
}

static int compare_floats(const void *a, const void *b)
{
	const float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

static void run_qsort(struct bench *b)
{
	memcpy(b->copy, b->values, VALUES * sizeof(float));
	qsort(b->copy, VALUES, sizeof(float), compare_floats);
}

static void run_stream(struct bench *b)
{
	zstream_begin(b->stream);
	do
		zstream_add(b->stream, b->values, VALUES);
	while (zstream_again(b->stream));
	zstream_end(b->stream, &b->result);
}

/* Run the exact pass over a long tensor, without its fixed cost. */
static void run_long_stream(struct bench *b)
{
	zstream_begin(b->stream);
	do
		for (int i = 0; i < 10; i++)
			zstream_add(b->stream, b->values, VALUES);
	while (zstream_again(b->stream));
	zstream_end(b->stream, &b->result);
}

static double best_of(void (*run)(struct bench *b), struct bench *b)
{
	double best = INFINITY;

	for (int i = 0; i < RUNS; i++) {
		const double start = milliseconds();
		double taken;

		run(b);
		taken = milliseconds() - start;
		best = taken < best ? taken : best;
	}
	return best;
}

static void report(struct bench *b, const char *name)
{
	const double measure = best_of(run_measure, b), sort = best_of(run_sort, b);
	const double quick = best_of(run_qsort, b), once = best_of(run_stream, b);
	const double each = (best_of(run_long_stream, b) - once) / (9.0 * VALUES) * 1e6;

	printf("%-12s %7.3f %7.3f %6.0f%% %7.2f %6.1fx %7.2f\n", name, measure, sort,
	       100.0 * sort / measure, quick, quick / sort, each);
}

/* A nearly normal number: the sum of twelve uniform ones. */
static float bell(uint32_t *state)
{
	double sum = -6.0;

	for (int i = 0; i < 12; i++) {
		*state = 1664525u * *state + 1013904223u;
		sum += (double)(*state >> 8) / 16777216.0;
	}
	return (float)sum;
}

/* Round values to the precision of a 16-bit type, or to a grid of sixteen levels. */
static void coarsen(float *values, double levels)
{
	for (size_t i = 0; i < VALUES; i++) {
		int exponent = 0;

		if (levels == 0.0)
			frexp((double)values[i], &exponent);
		values[i] = (float)ldexp(rint(ldexp((double)values[i],
						    (levels == 0.0 ? 11 : 1) - exponent)),
					 exponent - (levels == 0.0 ? 11 : 1));
	}
}

int main(void)
{
	struct bench b = { malloc(VALUES * sizeof(float)),
			   malloc(VALUES * sizeof(float)),
			   malloc(zmeasure_scratch(VALUES)),
			   malloc(sizeof(struct zstream)),
			   { 0 } };
	uint32_t state = 935;

	if (!b.values || !b.copy || !b.scratch || !b.stream)
		return 1;
	for (size_t i = 0; i < VALUES; i++)
		b.values[i] = bell(&state);
	printf("%d values      ms    sort   share   qsort  ratio  exact, ns a value\n", VALUES);
	report(&b, "32 bits");
	coarsen(b.values, 0.0);
	report(&b, "16 bits");
	coarsen(b.values, 16.0);
	report(&b, "16 levels");
	free(b.values);
	free(b.copy);
	free(b.scratch);
	free(b.stream);
	return 0;
}
