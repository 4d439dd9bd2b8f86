/* SPDX-License-Identifier: MIT */
/* requantised.h - a tensor in another ggml type: its values decoded and encoded again, row by row,
 * when they are read (gguf/quant.h). */
#ifndef FS_TENSOR_REQUANTISED_H
#define FS_TENSOR_REQUANTISED_H

#include <stdbool.h>
#include <stdint.h>

struct organ;
struct organ_location;
struct view;

/* Can the tensor be had in that type? Of its own type always. Otherwise its values have to be
 * weights that can be decoded, the type needs an encoder, and its blocks have to divide the rows,
 * of at most REQUANTISED_ROW_MAX values. */
#define REQUANTISED_ROW_MAX ((uint64_t)1 << 21)
bool requantised_exists(const struct organ *organ, uint32_t type);

/* The organ in that type, for which requantised_exists(). */
struct organ requantised_organ(const struct organ *organ, uint32_t type);

/* Its organ file; of its own type with the same bytes. NULL: out of memory. */
struct view *requantised_view(const struct organ_location *located, uint32_t type);

#endif
