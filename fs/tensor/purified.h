/* SPDX-License-Identifier: MIT */
/* purified.h - organs whose rows are purified when read.
 *
 * Unchanged are tensors of one axis (norms, biases), whose values have no meaningful order; types
 * without weights (integers, F64, unknown types); and rows of less than 4 or more than
 * PURIFIED_ROW_MAX values. */
#ifndef FS_TENSOR_PURIFIED_H
#define FS_TENSOR_PURIFIED_H

#include "gguf/organ.h"

struct organ_location;
struct view;

#define PURIFIED_ROW_MAX ((uint64_t)1 << 20)

enum purifier { PURIFIER_SPECTRAL, PURIFIER_FRACTAL };

/* The purified organ: its type differs if the organ's is quantised (codec.h). */
struct organ purified_organ(const struct organ *organ);

/* Its organ file. NULL: out of memory. */
struct view *purified_view(enum purifier purifier, const struct organ_location *located);

#endif
