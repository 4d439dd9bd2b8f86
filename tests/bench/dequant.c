/* SPDX-License-Identifier: MIT */
/* dequant.c - how fast each type is decoded: GB of float32 a second, beside what memcpy() of the
 * same output takes. Best of several runs. */
#include "gguf/dequant.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* More than a processor's cache holds. */
#define ELEMENTS ((size_t)16 << 20)
#define RUNS	 5

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* GB/s. */
static double best_copy(float *out, const float *from)
{
	double best = INFINITY;

	for (int i = 0; i < RUNS; i++) {
		const double start = seconds();

		memcpy(out, from, ELEMENTS * sizeof(*out));
		best = fmin(best, seconds() - start);
	}
	return ELEMENTS * sizeof(*out) / best / 1e9;
}

static double best_decode(uint32_t type, const uint8_t *bytes, float *out)
{
	const uint64_t blocks = ELEMENTS / type_find(type)->block_elements;
	double best = INFINITY;

	for (int i = 0; i < RUNS; i++) {
		const double start = seconds();

		dequant_blocks(type, bytes, blocks, out);
		best = fmin(best, seconds() - start);
	}
	return ELEMENTS * sizeof(*out) / best / 1e9;
}

int main(void)
{
	/* F64 and I64 have the most bytes. */
	uint8_t *bytes = malloc(ELEMENTS * 8);
	float *out = malloc(ELEMENTS * sizeof(*out));
	uint32_t state = 1;
	double copy;

	if (!bytes || !out)
		return 1;
	for (size_t i = 0; i < ELEMENTS * 8; i++) {
		state = 1664525u * state + 1013904223u;
		bytes[i] = (uint8_t)(state >> 24) & 0x3f; /* no NaN and no subnormal number */
	}
	memset(out, 0, ELEMENTS * sizeof(*out));
	copy = best_copy(out, (const float *)(const void *)bytes);
	printf("memcpy     %6.2f GB/s of float32\n", copy);
	for (uint32_t type = 0; type < GGML_TYPES; type++) {
		double speed;

		if (!dequant_supported(type))
			continue;
		speed = best_decode(type, bytes, out);
		printf("%-10s %6.2f  %5.2fx\n", type_find(type)->name, speed, speed / copy);
	}
	free(bytes);
	free(out);
	return 0;
}
