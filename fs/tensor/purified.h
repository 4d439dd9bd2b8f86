/* SPDX-License-Identifier: MIT */
/* purified.h - an organ of which each row is purified when it is read.
 *
 * Tensors of one axis (norms, biases) stay as they are, for their values stand in no order; so do
 * those of types that hold no weights (integers, F64, unknown types), and those with rows of less
 * than 4 or more than PURIFIED_ROW_MAX values. */
#ifndef FS_TENSOR_PURIFIED_H
#define FS_TENSOR_PURIFIED_H

#include "gguf/organ.h"

struct organ_location;
struct view;

#define PURIFIED_ROW_MAX ((uint64_t)1 << 20)

enum purifier { PURIFIER_SPECTRAL, PURIFIER_FRACTAL };

/* What the purified organ is: another type, where the organ's is quantised (codec.h). */
struct organ purified_organ(const struct organ *organ);

/* Its file. NULL: out of memory. */
struct view *purified_view(enum purifier purifier, const struct organ_location *located);

#endif
