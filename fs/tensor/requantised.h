/* SPDX-License-Identifier: MIT */
/* requantised.h - a tensor in another ggml type: its values decoded and encoded again when they
 * are read (gguf/quant.h). */
#ifndef FS_TENSOR_REQUANTISED_H
#define FS_TENSOR_REQUANTISED_H

#include <stdbool.h>
#include <stdint.h>

struct importance_matrix;
struct organ;
struct organ_location;
struct view;

/* Does the view of the organ, under the name of its slot, in that type exist? The organ's own type
 * always does. Any other type needs an encoder, values that are weights and can be decoded, and
 * rows of whole blocks; if the encoder needs weights, importance, which may be NULL, must have
 * them. */
bool requantised_exists(const struct organ *organ, uint32_t type,
			const struct importance_matrix *importance);

/* The organ in that type, for which requantised_exists(). */
struct organ requantised_organ(const struct organ *organ, uint32_t type);

/* The organ in that type, which is not its own, in a file of its data, to release with
 * backing_unref(). If importance, which may be NULL, has weights for the organ's name, each row is
 * encoded with those of its expert, unless it has more than 2^20 values; a read fails with -EIO if
 * the weights do not fit the organ. File NULL: out of memory. */
struct organ_location requantised_location(const struct organ_location *located, uint32_t type,
					   struct importance_matrix *importance);

/* The organ file in that type, encoded as above; for the organ's own type it has the organ's bytes.
 * NULL: out of memory. */
struct view *requantised_view(const struct organ_location *located, uint32_t type,
			      struct importance_matrix *importance);

#endif
