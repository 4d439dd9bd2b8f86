/* SPDX-License-Identifier: MIT */
/* requantised.h - a tensor in another ggml type, decoded and encoded when read (gguf/quant.h). */
#ifndef FS_TENSOR_REQUANTISED_H
#define FS_TENSOR_REQUANTISED_H

#include <stdbool.h>
#include <stdint.h>

struct importance_matrix;
struct organ;
struct organ_location;
struct view;

/* Can the organ, with its slot's name, be shown in that type? True for its own type. Another type
 * requires an encoder, decodable weights, and rows of whole blocks. If the encoder needs weights,
 * importance, which may be NULL, has to have them. */
bool requantised_exists(const struct organ *organ, uint32_t type,
			const struct importance_matrix *importance);

/* The organ in that type, for which requantised_exists() is true. */
struct organ requantised_organ(const struct organ *organ, uint32_t type);

/* The organ in that type, which is not its own, in a file with its data alone, to release with
 * backing_unref(). If importance, which may be NULL, has weights for the organ's name, each row of
 * up to 2^20 values is encoded with its expert's weights; a read fails with -EIO if the weights do
 * not fit the organ. File NULL: out of memory. */
struct organ_location requantised_location(const struct organ_location *located, uint32_t type,
					   struct importance_matrix *importance);

/* The organ file in that type, encoded in the same way; for the organ's own type it has the organ's
 * bytes. NULL: out of memory. */
struct view *requantised_view(const struct organ_location *located, uint32_t type,
			      struct importance_matrix *importance);

#endif
