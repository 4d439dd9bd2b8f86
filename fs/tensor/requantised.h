/* SPDX-License-Identifier: MIT */
/* requantised.h - a tensor in another ggml type: its values decoded and encoded again when they
 * are read (gguf/quant.h). */
#ifndef FS_TENSOR_REQUANTISED_H
#define FS_TENSOR_REQUANTISED_H

#include <stdbool.h>
#include <stdint.h>

struct organ;
struct organ_location;
struct view;

/* Does the view of the organ in that type exist? The organ's own type always does. Any other type
 * needs an encoder, values that are weights and can be decoded, and rows of whole blocks. */
bool requantised_exists(const struct organ *organ, uint32_t type);

/* The organ in that type, for which requantised_exists(). */
struct organ requantised_organ(const struct organ *organ, uint32_t type);

/* The organ file in that type; for the organ's own type it has the organ's bytes. NULL: out of
 * memory. */
struct view *requantised_view(const struct organ_location *located, uint32_t type);

#endif
