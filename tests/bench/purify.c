/* SPDX-License-Identifier: MIT */
/* purify.c - speed of purifying, merging an adapter into and quantising rows of usual lengths on
 * one core, in million values a second, beside memcpy. Best of several runs. */
#include "gguf/quant.h"
#include "gguf/types.h"
#include "measure/fractal.h"
#include "measure/lora.h"
#include "measure/spectral.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define VALUES 262144 /* values in a run, about */
#define RUNS   15
#define RANK   16

struct bench {
	size_t count, rows; /* values in a row */
	float *values, *result, *a, *b;
	uint8_t *bytes;
	struct spectral *spectral;
	struct fractal *fractal;
};

static double nanoseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void run_spectral(struct bench *b, size_t at)
{
	spectral_purify(b->spectral, b->values + at, b->result + at, SPECTRAL_KEEP);
}

static void run_fractal(struct bench *b, size_t at)
{
	fractal_purify(b->fractal, b->values + at, b->result + at, FRACTAL_STRENGTH);
}

static void run_lora(struct bench *b, size_t at)
{
	lora_add(b->result + at, b->count, b->a, b->b, RANK, 0.001f);
}

static void run_f16(struct bench *b, size_t at)
{
	quant_row(GGML_F16, b->values + at, b->count, NULL, b->bytes);
}

static void run_bf16(struct bench *b, size_t at)
{
	quant_row(GGML_BF16, b->values + at, b->count, NULL, b->bytes);
}

static void run_q8_0(struct bench *b, size_t at)
{
	quant_row(GGML_Q8_0, b->values + at, b->count, NULL, b->bytes);
}

static void run_memcpy(struct bench *b, size_t at)
{
	memcpy(b->result + at, b->values + at, b->count * sizeof(float));
}

/* Million values a second in the best run. */
static double speed(struct bench *b, void (*run)(struct bench *b, size_t at))
{
	double best = INFINITY;

	for (int i = 0; i < RUNS; i++) {
		const double start = nanoseconds();
		double taken;

		for (size_t row = 0; row < b->rows; row++)
			run(b, row * b->count);
		taken = nanoseconds() - start;
		best = taken < best ? taken : best;
	}
	return (double)(b->rows * b->count) / best * 1e3;
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

static int report(struct bench *b, size_t count)
{
	b->count = count;
	b->rows = VALUES / count;
	b->spectral = spectral_new(count, FLT_MAX);
	b->fractal = fractal_new(count, FLT_MAX);
	if (!b->spectral || !b->fractal)
		return -1;
	memcpy(b->result, b->values, VALUES * sizeof(float));
	printf("%6zu %9.1f %9.1f %9.1f %9.1f %9.1f %9.1f %9.1f\n", count, speed(b, run_spectral),
	       speed(b, run_fractal), speed(b, run_lora), speed(b, run_f16), speed(b, run_bf16),
	       speed(b, run_q8_0), speed(b, run_memcpy));
	spectral_free(b->spectral);
	fractal_free(b->fractal);
	return 0;
}

int main(void)
{
	static const size_t counts[] = { 288, 576, 4096, 11008 };
	struct bench b = { .values = malloc(VALUES * sizeof(float)),
			   .result = malloc(VALUES * sizeof(float)),
			   .a = malloc(VALUES * sizeof(float)),
			   .b = malloc(RANK * sizeof(float)),
			   .bytes = malloc(VALUES * sizeof(float)) };
	uint32_t state = 935;

	if (!b.values || !b.result || !b.a || !b.b || !b.bytes)
		return 1;
	for (size_t i = 0; i < VALUES; i++)
		b.values[i] = bell(&state);
	for (size_t i = 0; i < RANK; i++)
		b.b[i] = bell(&state);
	memcpy(b.a, b.values, VALUES * sizeof(float));
	printf("million values a second on one core; lora of rank %d\n", RANK);
	printf("   row  spectral   fractal      lora       f16      bf16      q8_0    memcpy\n");
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		if (report(&b, counts[i]) < 0)
			return 1;
	free(b.values);
	free(b.result);
	free(b.a);
	free(b.b);
	free(b.bytes);
	return 0;
}
