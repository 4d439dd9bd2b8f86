/* SPDX-License-Identifier: MIT */
/* sampling.h - from an organ on disk to its Z-measure: read the blocks that hold the sampled
 * values, decode them, measure. */
#ifndef FS_TENSOR_SAMPLING_H
#define FS_TENSOR_SAMPLING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct organ_location;
struct zmeasure;

/* In place of a number of values: look at all of them. */
#define SAMPLES_ALL ((uint64_t)0)

struct sampling {
	struct backing *file; /* borrowed */
	uint64_t offset;      /* of the tensor's data in it, bytes */
	uint32_t type;	      /* ggml type id */
	uint64_t elements;    /* whole blocks of the type */
	uint64_t samples;     /* values to look at, at most (sample.h), or SAMPLES_ALL */
	/* Asked now and then: is the result still wanted? */
	bool (*wanted)(void *context);
	void *context;
	/* For reads that take long, as of backing_read_cancellable(); it becomes true only where
	 * the result is not wanted. */
	const atomic_bool *stop;
};

/* File, offset, type and elements of an organ; the rest stays. False: its bytes are in a file that
 * is gone, or in none. */
bool sampling_locate(struct sampling *sampling, const struct organ_location *at);

/* Measure. Reads no byte but those of the sampled blocks. Returns 0, or -EINTR: not wanted any
 * more; -EIO: the file is not what it was; -ENOTSUP: blocks of this type hold no values that are
 * known; -ENOMEM. */
int sampling_measure(const struct sampling *sampling, struct zmeasure *result);

/* The sampled values themselves, sample_total(elements, samples) of them; samples is not
 * SAMPLES_ALL. Returns as above. */
int sampling_values(const struct sampling *sampling, float *values);

/* count values from start on, which is a multiple of SAMPLE_SPAN. They count once backing_check()
 * has said 0 of the file afterwards. Returns as above. */
#define SAMPLING_RANGE_MAX ((size_t)1 << 16)
int sampling_range(const struct sampling *sampling, uint64_t start, size_t count, float *values);

#endif
