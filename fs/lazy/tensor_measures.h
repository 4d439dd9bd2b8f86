/* SPDX-License-Identifier: MIT */
/* tensor_measures.h - the Z-measure of every organ (struct zmeasure), as memo.h says: -ENOTSUP for
 * a type that holds no values, other errors as sampling_measure() gives them. */
#ifndef FS_LAZY_TENSOR_MEASURES_H
#define FS_LAZY_TENSOR_MEASURES_H

#include <stdint.h>

struct memo;
struct model;
struct pool;

/* The Z-measures of a model; samples as in sampling.h, pool as memo_new(). NULL: out of memory. */
struct memo *tensor_measures_new(struct model *model, uint64_t samples, struct pool *pool);

#endif
