/* SPDX-License-Identifier: MIT */
/* encode.h - values that were computed, as a ggml type again. */
#ifndef FS_TENSOR_ENCODE_H
#define FS_TENSOR_ENCODE_H

#include "gguf/types.h"

#include <stddef.h>

/* The type of the values computed from a tensor of that type with rows of that length: F32, F16 and
 * BF16 stay, of any other it is Q8_0, which adds hardly an error of its own, or F16 where the row
 * is not made of whole blocks. */
uint32_t encode_type(uint32_t type, uint64_t row);

/* The largest magnitude that one of those types holds. */
float encode_max(uint32_t type);

/* count values, whole blocks of the type, one of those above. bytes need no alignment. */
void encode(uint32_t type, const float *values, size_t count, uint8_t *bytes);

#endif
