/* SPDX-License-Identifier: MIT */
/* merge.c - time of merging a tensor of a base and two models, from their files to encoded rows,
 * by one thread that reads the result once, in parts of 1 MiB:
 *
 *	merge COLUMNS ROWS BASE MODEL MODEL RESULT-PREFIX
 *
 * The files hold F16 and nothing else. Prints a line for each method: its name, and the
 * microseconds of processor time of its passes and then of its rows, from the run of three with
 * the least sum. The rows are written to RESULT-PREFIX followed by the method's name. */
#include "fs/merge/merge_tensor.h"
#include "fs/storage/backing.h"
#include "gguf/types.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RUNS  3
#define CHUNK ((size_t)1 << 20)

static const enum merge_method methods[] = { MERGE_LINEAR, MERGE_SLERP, MERGE_TIES,
					     MERGE_DARE_TIES };

static void must(bool done, const char *what)
{
	if (!done) {
		fprintf(stderr, "merge: %s\n", what);
		exit(1);
	}
}

static long microseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (long)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static struct merge_data data_of(const char *path)
{
	const struct merge_data data = { .file = backing_open(path, NULL), .type = GGML_F16 };

	must(data.file, path);
	return data;
}

/* Set usual parameters, with the seeds 1 and 2. */
static void set_rule(struct merge_rule *rule, enum merge_method method, uint64_t columns,
		     uint64_t rows)
{
	*rule = (struct merge_rule){ .method = method,
				     .n = 2,
				     .normalize = method == MERGE_LINEAR || method == MERGE_TIES,
				     .rescale = method == MERGE_DARE_TIES,
				     .lambda = 1.0,
				     .t = 0.5,
				     .rows = rows,
				     .columns = columns };
	for (unsigned i = 0; i < rule->n; i++)
		rule->inputs[i] =
			(struct merge_input){ .weight = 0.5, .density = 0.5, .seed = i + 1 };
}

/* Read the whole merged tensor into bytes. Returns microseconds. */
static long read_all(const struct merge_tensor *tensor, uint8_t *bytes, size_t size, long *passes)
{
	const struct merge_tensor *kept;
	struct backing *merged = merge_tensor_new(tensor, &kept);
	const long start = microseconds();
	long taken;

	must(merged && backing_size(merged) == size, "out of memory");
	must(backing_read(merged, bytes, 1, 0) == 0, "it cannot be read");
	*passes = microseconds() - start;
	for (size_t at = 0; at < size; at += CHUNK) {
		const size_t n = size - at < CHUNK ? size - at : CHUNK;

		must(backing_read(merged, bytes + at, n, at) == 0, "it cannot be read");
	}
	taken = microseconds() - start;
	backing_unref(merged);
	return taken;
}

static void run(const struct merge_tensor *tensor, const char *prefix)
{
	const char *name = merge_method_names[tensor->rule.method];
	const size_t size = (size_t)(tensor->rule.rows * tensor->rule.columns) * 2;
	uint8_t *bytes = malloc(size);
	long least = 0, of_passes = 0;
	char path[4096];
	FILE *file;

	must(bytes, "out of memory");
	for (unsigned i = 0; i < RUNS; i++) {
		long passes;
		const long taken = read_all(tensor, bytes, size, &passes);

		if (i == 0 || taken < least) {
			least = taken;
			of_passes = passes;
		}
	}
	printf("%s %ld %ld\n", name, of_passes, least - of_passes);
	snprintf(path, sizeof(path), "%s%s", prefix, name);
	file = fopen(path, "wb");
	must(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0, path);
	free(bytes);
}

int main(int argc, char **argv)
{
	struct merge_tensor tensor = { .type = GGML_F16 };

	must(argc == 7, "usage: merge COLUMNS ROWS BASE MODEL MODEL RESULT-PREFIX");
	tensor.base = data_of(argv[3]);
	tensor.inputs[0] = data_of(argv[4]);
	tensor.inputs[1] = data_of(argv[5]);
	for (size_t m = 0; m < sizeof(methods) / sizeof(methods[0]); m++) {
		set_rule(&tensor.rule, methods[m], strtoull(argv[1], NULL, 10),
			 strtoull(argv[2], NULL, 10));
		tensor.ne[0] = tensor.rule.columns;
		tensor.ne[1] = tensor.rule.rows;
		tensor.ne[2] = tensor.ne[3] = 1;
		run(&tensor, argv[6]);
	}
	backing_unref(tensor.base.file);
	backing_unref(tensor.inputs[0].file);
	backing_unref(tensor.inputs[1].file);
	return 0;
}
