/* SPDX-License-Identifier: MIT */
/* tensor_factors.h - what turns one tensor into another of its shape, as the product of two narrow
 * matrices: measure/low_rank.h of the values there less those here, decoded block by block. */
#ifndef FS_TENSOR_TENSOR_FACTORS_H
#define FS_TENSOR_TENSOR_FACTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct halt;
struct low_rank;

struct tensor_factors {
	/* Of one shape, and of types that dequant_supported(). */
	const struct organ_location *here, *there;
	uint64_t first, rows; /* rows of ne[0] values, of the matrix */
	size_t rank;	      /* 0: how far they are apart alone is found, in bounded memory */
	bool same;	      /* known without reading */
};

/* Find the factors. low_rank_release() is due where it returns 0. Else -EINTR soon after halt; -EIO
 * a file is not what it was, or gone; -ENOMEM. */
int tensor_factors(const struct tensor_factors *of, const struct halt *halt,
		   struct low_rank *result);

#endif
