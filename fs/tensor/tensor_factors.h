/* SPDX-License-Identifier: MIT */
/* tensor_factors.h - the difference of two tensors with equal shape as the product of two narrow
 * matrices: measure/low_rank.h of the values there minus those here, decoded block by block. */
#ifndef FS_TENSOR_TENSOR_FACTORS_H
#define FS_TENSOR_TENSOR_FACTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct halt;
struct low_rank;

struct tensor_factors {
	/* Organs with equal shape, whose types dequant_supported() accepts. */
	const struct organ_location *here, *there;
	uint64_t first, rows; /* rows of the matrix, each with ne[0] values */
	size_t rank;	      /* 0: compute only the distance, in bounded memory */
	bool same;	      /* known to be equal without reading */
};

/* Find the factors. Returns 0, and low_rank_release() has to follow; or -EINTR soon after halt;
 * -EIO a file was changed or is gone; -ENOMEM. */
int tensor_factors(const struct tensor_factors *of, const struct halt *halt,
		   struct low_rank *result);

#endif
