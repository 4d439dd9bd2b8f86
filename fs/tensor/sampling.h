/* SPDX-License-Identifier: MIT */
/* sampling.h - the Z-measure of an organ on disk: reads and decodes the blocks with the sampled
 * values, and measures these. */
#ifndef FS_TENSOR_SAMPLING_H
#define FS_TENSOR_SAMPLING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct organ_location;
struct zmeasure;

/* Number of values: all. */
#define SAMPLES_ALL ((uint64_t)0)

struct sampling {
	struct backing *file; /* borrowed */
	uint64_t offset;      /* of the tensor's data in file, bytes */
	uint32_t type;	      /* ggml type id */
	uint64_t elements;    /* whole blocks of the type */
	uint64_t samples;     /* most values to sample (sample.h), or SAMPLES_ALL */
	/* Called now and then: is the result still wanted? */
	bool (*wanted)(void *context);
	void *context;
	/* Stops reads, as for backing_read_cancellable(); set only if the result is not wanted. */
	const atomic_bool *stop;
};

/* Set file, offset, type and elements to an organ's. False: the file is gone, or there is none. */
bool sampling_locate(struct sampling *sampling, const struct organ_location *at);

/* Measure; reads only the sampled blocks. Returns 0, or -EINTR no longer wanted; -EIO the file was
 * changed; -ENOTSUP the type cannot be decoded; -ENOMEM. */
int sampling_measure(const struct sampling *sampling, struct zmeasure *result);

/* Get the sampled values, sample_total(elements, samples) of them; samples is not SAMPLES_ALL.
 * Returns as sampling_measure(). */
int sampling_values(const struct sampling *sampling, float *values);

/* Get `count` values from start on, a multiple of SAMPLE_SPAN. They are valid only if
 * backing_check() of the file returns 0 afterwards. Returns as sampling_measure(). */
#define SAMPLING_RANGE_MAX ((size_t)1 << 16)
int sampling_range(const struct sampling *sampling, uint64_t start, size_t count, float *values);

#endif
