/* SPDX-License-Identifier: MIT */
/* quant.c - speed of encoding each type on one core, in MB of float32 a second: rows of nearly
 * normal values, without and with importance. Best of several runs. */
#include "gguf/quant.h"
#include "gguf/types.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROW    4096
#define VALUES ((size_t)ROW * 64)
#define RUNS   3

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* MB/s of float32 in the best run. */
static double speed(uint32_t type, const float *values, const float *importance, uint8_t *bytes)
{
	double best = INFINITY;

	/* The first run makes tables. */
	for (int i = 0; i <= RUNS; i++) {
		const double start = seconds();
		double taken;

		for (size_t at = 0; at < VALUES; at += ROW)
			quant_row(type, values + at, ROW, importance, bytes);
		taken = seconds() - start;
		best = taken < best ? taken : best;
	}
	return (double)(VALUES * sizeof(float)) / best / 1e6;
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

int main(void)
{
	static float values[VALUES], importance[ROW];
	static uint8_t bytes[ROW * sizeof(float)];
	uint32_t state = 935;

	for (size_t i = 0; i < VALUES; i++)
		values[i] = bell(&state);
	for (size_t i = 0; i < ROW; i++)
		importance[i] = fabsf(bell(&state));
	printf("MB/s       plain  importance\n");
	for (uint32_t type = 0; type < GGML_TYPES; type++)
		if (quant_supported(type))
			printf("%-8s %7.0f %11.0f\n", type_find(type)->name,
			       speed(type, values, NULL, bytes),
			       speed(type, values, importance, bytes));
	return 0;
}
