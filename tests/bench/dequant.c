/* SPDX-License-Identifier: MIT */
/* dequant.c - speed of decoding each type, in GB of float32 a second and as a ratio to memcpy of
 * as many bytes: into a buffer larger than the caches, then into one that stays there. The blocks
 * are the real weights of types.gguf, repeated. Best of several runs. */
#include "gguf/dequant.h"
#include "gguf/cursor.h"
#include "gguf/reader.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MODEL	  "tests/models/types.gguf"
#define MODEL_MAX ((size_t)1 << 20)
#define LARGE	  ((size_t)32 << 20) /* values */
#define SMALL	  ((size_t)64 << 10)
#define RUNS	  5

struct bench {
	struct memory_bytes model;
	struct gguf *types;
	size_t values; /* values per call, LARGE or SMALL */
	uint8_t *from;
	float *to;
};

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Type of the timed functions: dequant_blocks(), and others with its parameters. */
typedef void decode_function(uint32_t type, const void *bytes, uint64_t n, float *out);

static void copy_values(uint32_t type, const void *bytes, uint64_t n, float *out)
{
	(void)type;
	memcpy(out, bytes, n * sizeof(*out));
}

/* GB/s of float32 in the best run. */
static double speed(const struct bench *b, decode_function *decode, uint32_t type, uint64_t n)
{
	double best = INFINITY;

	for (int i = 0; i < RUNS; i++) {
		const double start = seconds();
		double taken;

		for (size_t done = 0; done < LARGE; done += b->values)
			decode(type, b->from, n, b->to);
		taken = seconds() - start;
		best = taken < best ? taken : best;
	}
	return (double)(LARGE * sizeof(float)) / best / 1e9;
}

/* Repeat the tensor's blocks until they hold b->values. Returns the number of blocks. */
static uint64_t fill(const struct bench *b, const struct gguf_tensor *t)
{
	const struct type_info *type = type_find(t->type);
	const uint64_t blocks = b->values / type->block_elements, size = blocks * type->block_bytes;

	for (uint64_t at = 0; at < size; at += t->size)
		memcpy(b->from + at, b->model.bytes + t->offset,
		       t->size < size - at ? t->size : size - at);
	return blocks;
}

static void report(struct bench *b, const struct gguf_tensor *t)
{
	static const size_t values[] = { LARGE, SMALL };

	printf("%-8s", type_find(t->type)->name);
	for (int i = 0; i < 2; i++) {
		double copy, decode;
		uint64_t blocks;

		b->values = values[i];
		blocks = fill(b, t);
		copy = speed(b, copy_values, t->type, b->values);
		decode = speed(b, dequant_blocks, t->type, blocks);
		printf(" %8.2f %8.2f", decode, decode / copy);
	}
	printf("\n");
}

static int open_model(struct bench *b, uint8_t *bytes)
{
	FILE *file = fopen(MODEL, "rb");
	struct source source;

	if (!file || !bytes) {
		perror(MODEL);
		return -1;
	}
	b->model.bytes = bytes;
	b->model.size = fread(bytes, 1, MODEL_MAX, file);
	fclose(file);
	source = source_of_memory(&b->model);
	b->types = gguf_read(&source, NULL);
	return b->types ? 0 : -1;
}

int main(void)
{
	/* The widest type has eight bytes a value. */
	struct bench b = { .from = calloc(LARGE, 8), .to = calloc(LARGE, sizeof(float)) };
	uint8_t *bytes = malloc(MODEL_MAX);

	if (!b.from || !b.to || open_model(&b, bytes) < 0)
		return 1;
	printf("GB/s       memory  /memcpy    cache  /memcpy\n");
	for (uint32_t i = 0; i < b.types->n_tensors; i++)
		report(&b, &b.types->tensors[i]);
	gguf_free(b.types);
	free(bytes);
	free(b.from);
	free(b.to);
	return 0;
}
