/* SPDX-License-Identifier: MIT */
/* tensor_difference.h - two organs beside each other, here and there: are their bytes the same, and
 * how far are their values apart? */
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
	DIFFERENCE_NONFINITE, /* values that are not finite are left out */
	DIFFERENCE_UNDECODED, /* the values of one of the types are not known */
	DIFFERENCE_SHORT,     /* one of them has fewer bytes than its type needs */
	DIFFERENCE_MISSING,   /* one of them is in a file that is gone */
	DIFFERENCE_SHAPE,     /* they have other shapes */
	DIFFERENCE_ONLY_HERE, /* there is no other one */
	DIFFERENCE_ONLY_THERE,
	DIFFERENCE_STATUSES,
};

/* "ok", "only-here", ...; the longest has that many bytes. */
const char *tensor_difference_status(enum tensor_difference_status status);
#define DIFFERENCE_STATUS_WIDTH 10

struct tensor_difference {
	enum tensor_difference_status status;
	bool same; /* type, shape and all bytes */
	/* As measure/difference.h has them, of the sampled values; all is known of what is the
	 * same. NaN: not known. */
	double cosine, relative, average, largest;
	double theta; /* degrees: there less here */
};

/* Is it known without reading that both have the same bytes, for these lie in the same place? */
bool tensor_difference_is_none(const struct organ_location *here,
			       const struct organ_location *there);

/* Multiply the n values of both tensors from number at on by the roots of their weights. Returns 0
 * or -errno. */
typedef int tensor_weigh_fn(void *context, uint64_t at, size_t n, float *a, float *b);

/* Add the pairs of all values of two tensors of one shape, weighted by weigh; NULL: not. Returns 0
 * or as sampling_range(), or as weigh, or -EIO if one of the files was changed meanwhile. */
int tensor_difference_values(const struct sampling *here, const struct sampling *there,
			     tensor_weigh_fn *weigh, void *context, struct difference *difference);

/* Compare two organs, of which one may be NULL. What has the type and shape of the other is read
 * until a byte differs, and otherwise samples of both are, as sampling.h says. Returns 0, or -EINTR
 * soon after halt, -EIO or -ENOMEM. */
int tensor_difference(const struct organ_location *here, const struct organ_location *there,
		      uint64_t samples, const struct halt *halt, struct tensor_difference *result);

#endif
