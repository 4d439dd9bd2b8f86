/* SPDX-License-Identifier: MIT */
/* spans.c - read the bytes from which θ of every tensor of a model is computed, without computing:
 * a lower bound for the time of θ of this file. */
#include "fs/storage/backing.h"
#include "gguf/reader.h"
#include "measure/sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* Read the sampled spans of a tensor. Returns the number of bytes. */
static uint64_t read_tensor(struct backing *file, const struct gguf_tensor *t, void *bytes)
{
	const struct type_info *type = type_find(t->type);
	struct sample sample;
	struct span span;
	uint64_t elements, total = 0;

	if (!type || !shape_elements(t->ne, &elements))
		return 0;
	sample_init(&sample, elements, SAMPLE_DEFAULT);
	while (sample_next(&sample, &span)) {
		const size_t n = span.count / type->block_elements * type->block_bytes;

		if (backing_read_with(file, BACKING_SPANS | BACKING_UNCHECKED, bytes, n,
				      t->offset + span.start / type->block_elements *
							  type->block_bytes) < 0)
			exit(1);
		total += n;
	}
	return total;
}

int main(int argc, char **argv)
{
	struct backing *file = argc == 2 ? backing_open(argv[1], NULL) : NULL;
	struct source source;
	struct gguf *gguf;
	void *bytes = malloc((size_t)SAMPLE_DEFAULT * 8);
	double best = 1e9;
	uint64_t total = 0;

	if (!file || !bytes)
		return 1;
	source = backing_source(file);
	gguf = gguf_read(&source, NULL);
	for (int run = 0; gguf && run < 5; run++) {
		const double start = milliseconds();
		double taken;

		total = 0;
		for (uint32_t i = 0; i < gguf->n_tensors; i++)
			total += read_tensor(file, &gguf->tensors[i], bytes);
		taken = milliseconds() - start;
		best = taken < best ? taken : best;
	}
	printf("%.0f %llu\n", best * 1e3, (unsigned long long)total);
	gguf_free(gguf);
	backing_unref(file);
	free(bytes);
	return 0;
}
