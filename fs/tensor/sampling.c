/* SPDX-License-Identifier: MIT */
/* sampling.c - see sampling.h. */
#include "fs/tensor/sampling.h"
#include "fs/storage/backing.h"
#include "fs/storage/remote_file.h"
#include "fs/tensor/organ_views.h"
#include "gguf/dequant.h"
#include "gguf/types.h"
#include "measure/zstream.h"

#include <errno.h>
#include <stdlib.h>

/* elements read and decoded at a time: whole blocks of every type */
#define CHUNK SAMPLING_RANGE_MAX

/* spans requested from a server together */
#define BATCH 256

bool sampling_locate(struct sampling *s, const struct organ_location *at)
{
	uint64_t offset = at->offset, length = at->organ.data_size;

	s->file = !at->file || backing_is_computed(at->file)
			  ? at->file
			  : backing_file_at(at->file, &offset, &length);
	s->offset = offset;
	s->type = at->organ.type;
	shape_elements(at->organ.ne, &s->elements);
	return s->file && !backing_is_revoked(s->file);
}

/* File offset of the block that begins with element `start`. *n: bytes of count elements there. */
static uint64_t place_of(const struct sampling *s, uint64_t start, size_t count, size_t *n)
{
	const struct type_info *type = type_find(s->type);
	const size_t blocks = (count + type->block_elements - 1) / type->block_elements;

	*n = blocks * type->block_bytes;
	return s->offset + start / type->block_elements * type->block_bytes;
}

/* Read and decode count elements, at most CHUNK, from the begin of a block on. */
static int read_values(const struct sampling *s, uint64_t start, size_t count, void *bytes,
		       float *values)
{
	size_t n;
	const uint64_t at = place_of(s, start, count, &n);
	const int rc = backing_read_cancellable(s->file, BACKING_SPANS | BACKING_UNCHECKED, bytes,
						n, at, s->stop);

	if (rc == 0)
		dequant_range(s->type, bytes, 0, count, values);
	return rc;
}

static size_t at_most(uint64_t n, size_t most)
{
	return n < most ? (size_t)n : most;
}

/* Request all spans from a slow disk at once, so that it can fetch them concurrently. */
static void prefetch(const struct sampling *s, const struct sample *sample)
{
	struct sample all = *sample;
	struct span span;
	size_t n;

	if (s->elements == 0 || !backing_is_uncached(s->file, s->offset))
		return;
	while (s->wanted(s->context) && sample_next(&all, &span))
		for (uint64_t done = 0; done < span.count; done += CHUNK) {
			const size_t count = at_most(span.count - done, CHUNK);
			const uint64_t at = place_of(s, span.start + done, count, &n);

			backing_readahead(s->file, n, at);
		}
}

/* Spans that are read together; their bytes are contiguous in the buffer. */
struct batch {
	size_t n, most;
	size_t used, room; /* in bytes */
	struct remote_piece pieces[BATCH];
	size_t counts[BATCH]; /* number of elements of each span */
};

/* Read and decode the batch and empty it. *values moves behind the decoded values. */
static int finish_batch(const struct sampling *s, struct batch *batch, float **values)
{
	int rc = s->wanted(s->context) ? 0 : -EINTR;

	if (rc == 0)
		rc = backing_read_pieces(s->file, batch->pieces, batch->n, s->stop);
	for (size_t i = 0; rc == 0 && i < batch->n; i++) {
		dequant_range(s->type, batch->pieces[i].bytes, 0, batch->counts[i], *values);
		*values += batch->counts[i];
	}
	batch->n = batch->used = 0;
	return rc;
}

/* Add a span of count elements from a block's begin on; first finish a full batch. */
static int add_to_batch(const struct sampling *s, struct batch *batch, uint64_t start, size_t count,
			uint8_t *bytes, float **values)
{
	size_t n;
	const uint64_t at = place_of(s, start, count, &n);
	int rc = 0;

	if (batch->n == batch->most || n > batch->room - batch->used)
		rc = finish_batch(s, batch, values);
	batch->pieces[batch->n] = (struct remote_piece){ at, n, bytes + batch->used };
	batch->counts[batch->n++] = count;
	batch->used += n;
	return rc;
}

static int read_sample(const struct sampling *s, struct sample *sample, void *bytes, float *values)
{
	const struct type_info *type = type_find(s->type);
	struct batch batch = { .most = backing_is_remote(s->file) ? BATCH : 1,
			       .room = CHUNK / type->block_elements * type->block_bytes };
	struct span span;
	int rc = 0;

	prefetch(s, sample);
	while (rc == 0 && sample_next(sample, &span)) {
		for (uint64_t done = 0; rc == 0 && done < span.count; done += CHUNK)
			rc = add_to_batch(s, &batch, span.start + done,
					  at_most(span.count - done, CHUNK), bytes, &values);
	}
	if (rc == 0 && batch.n)
		rc = finish_batch(s, &batch, &values);
	return rc < 0 ? rc : backing_check(s->file);
}

static int measure_sample(const struct sampling *s, uint64_t limit, void *bytes,
			  struct zmeasure *result)
{
	const size_t n = (size_t)sample_total(s->elements, limit);
	float *values = malloc((n + 1) * sizeof(*values));
	void *scratch = malloc(zmeasure_scratch(n) + 1);
	struct sample sample;
	int rc = -ENOMEM;

	sample_init(&sample, s->elements, limit);
	if (values && scratch)
		rc = read_sample(s, &sample, bytes, values);
	if (rc == 0)
		zmeasure(values, n, s->elements, scratch, result);
	free(scratch);
	free(values);
	return rc;
}

static int stream_pass(const struct sampling *s, struct zstream *z, void *bytes, float *values)
{
	for (uint64_t done = 0; done < s->elements;) {
		const size_t count = at_most(s->elements - done, CHUNK);
		int rc;

		if (!s->wanted(s->context))
			return -EINTR;
		rc = read_values(s, done, count, bytes, values);
		if (rc < 0)
			return rc;
		zstream_add(z, values, count);
		done += count;
	}
	return backing_check(s->file);
}

static int measure_all(const struct sampling *s, void *bytes, struct zmeasure *result)
{
	struct zstream *z = malloc(sizeof(*z));
	float *values = malloc(CHUNK * sizeof(*values));
	int rc = z && values ? 0 : -ENOMEM;

	if (rc == 0) {
		zstream_begin(z);
		do
			rc = stream_pass(s, z, bytes, values);
		while (rc == 0 && zstream_again(z));
	}
	if (rc == 0)
		zstream_end(z, result);
	free(values);
	free(z);
	return rc;
}

/* A buffer for CHUNK encoded elements. NULL with *rc set. */
static void *new_bytes(const struct sampling *s, int *rc)
{
	const struct type_info *type = type_find(s->type);
	void *bytes = NULL;

	*rc = -ENOTSUP;
	if (dequant_supported(s->type)) {
		bytes = malloc(CHUNK / type->block_elements * type->block_bytes);
		*rc = bytes ? 0 : -ENOMEM;
	}
	return bytes;
}

int sampling_measure(const struct sampling *s, struct zmeasure *result)
{
	const uint64_t limit = s->samples == SAMPLES_ALL ? SAMPLE_DEFAULT : s->samples;
	int rc;
	void *bytes = new_bytes(s, &rc);

	if (rc == 0 && s->samples == SAMPLES_ALL && s->elements > SAMPLE_DEFAULT)
		rc = measure_all(s, bytes, result);
	else if (rc == 0)
		rc = measure_sample(s, limit, bytes, result);
	free(bytes);
	return rc;
}

int sampling_values(const struct sampling *s, float *values)
{
	struct sample sample;
	int rc;
	void *bytes = new_bytes(s, &rc);

	sample_init(&sample, s->elements, s->samples);
	if (rc == 0)
		rc = read_sample(s, &sample, bytes, values);
	free(bytes);
	return rc;
}

int sampling_range(const struct sampling *s, uint64_t start, size_t count, float *values)
{
	int rc = s->wanted(s->context) ? 0 : -EINTR;
	void *bytes = rc == 0 ? new_bytes(s, &rc) : NULL;

	if (rc == 0)
		rc = read_values(s, start, count, bytes, values);
	free(bytes);
	return rc;
}
