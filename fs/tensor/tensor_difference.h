/* SPDX-License-Identifier: MIT */
/* tensor_difference.h - compares two organs, `here` and `there`: equality of their bytes, and
 * distances of their values. */
#ifndef FS_TENSOR_TENSOR_DIFFERENCE_H
#define FS_TENSOR_TENSOR_DIFFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct difference;
struct halt;
struct organ_location;
struct sampling;

enum tensor_difference_status {
	DIFFERENCE_OK,
	DIFFERENCE_NONFINITE, /* values that are not finite were left out */
	DIFFERENCE_UNDECODED, /* a type cannot be decoded */
	DIFFERENCE_SHORT,     /* one of the tensors is short */
	DIFFERENCE_MISSING,   /* one of the files is gone */
	DIFFERENCE_SHAPE,     /* the shapes differ */
	DIFFERENCE_ONLY_HERE, /* there is no counterpart */
	DIFFERENCE_ONLY_THERE,
	DIFFERENCE_STATUSES,
};

/* "ok", "only-here", ...; DIFFERENCE_STATUS_WIDTH is the greatest length. */
const char *tensor_difference_status(enum tensor_difference_status status);
#define DIFFERENCE_STATUS_WIDTH 10

struct tensor_difference {
	enum tensor_difference_status status;
	bool same; /* type, shape and all bytes are equal */
	/* Figures of measure/difference.h for the sampled values. NaN: unknown, never if same. */
	double cosine, relative, average, largest;
	double theta; /* degrees: theta of there minus that of here */
};

/* Do both have the same data, which can be told without reading because their place is the same? */
bool tensor_difference_is_none(const struct organ_location *here,
			       const struct organ_location *there);

/* Multiply the n values of both tensors, from number `at` on, by the roots of their weights.
 * Returns 0 or -errno. */
typedef int tensor_weigh_fn(void *context, uint64_t at, size_t n, float *a, float *b);

/* Add the pairs of all values of two tensors with equal shape, weighted by weigh unless it is NULL.
 * Returns 0, or an error of sampling_range() or weigh, or -EIO if a file was changed meanwhile. */
int tensor_difference_values(const struct sampling *here, const struct sampling *there,
			     tensor_weigh_fn *weigh, void *context, struct difference *difference);

/* Compare two organs, one of which may be NULL. If type and shape are equal, both are read until a
 * byte differs; otherwise samples of both are compared (sampling.h). Returns 0, or -EINTR soon
 * after halt, -EIO or -ENOMEM. */
int tensor_difference(const struct organ_location *here, const struct organ_location *there,
		      uint64_t samples, const struct halt *halt, struct tensor_difference *result);

#endif
