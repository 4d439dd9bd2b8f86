/* SPDX-License-Identifier: MIT */
/* organ.h - the organ file: one tensor, preceded by a header with its name, shape and type.
 *
 *	name_len u32 | name | n_dims u32 | dims u64 x n_dims | dtype u32 | tensor data
 *
 * Little-endian, packed. The file ends with the data; a longer or shorter file is not an organ. */
#ifndef GGUF_ORGAN_H
#define GGUF_ORGAN_H

#include "types.h"

struct error;
struct gguf_tensor;
struct source;

/* The header of an organ file, or that of a tensor as an organ file. */
struct organ {
	const char *name; /* exact tensor name; may hold NULs */
	uint32_t name_length;
	uint32_t dims;
	uint64_t ne[GGML_AXES]; /* unused axes are 1 */
	uint32_t type;
	uint64_t header_size; /* bytes before the data */
	uint64_t data_size;   /* bytes */
};

/* The tensor as an organ, with the tensor's name, borrowed. */
struct organ organ_of_tensor(const struct gguf_tensor *tensor);

/* Write the header, organ->header_size bytes. */
void organ_write_header(const struct organ *organ, uint8_t *bytes);

/* Parse the header of an organ file and check the file's size against it; for an unknown type any
 * size is valid. On success the caller frees organ->name. Errors: EBADMSG not an organ file, with
 * err->offset at the first wrong byte; EIO, ENOMEM. */
int organ_parse(const struct source *source, struct organ *organ, struct error *err);

/* Check that the organ may fill the slot of that tensor. Types may differ if both are known; shapes
 * may differ only with any_shape. Returns 0, or -EINVAL with the reason. */
int organ_fits(const struct organ *organ, const struct gguf_tensor *slot, bool any_shape,
	       struct error *err);

/* One of the ne[dims - 1] slices of an organ along its last axis, as an organ with the same name
 * and type and one axis less, or of one value. Slices have equal size and are contiguous. False: no
 * slices, or not whole blocks. */
bool organ_slice(const struct organ *stack, struct organ *slice);

/* An organ of `count` such slices, at least one. False: too large. */
bool organ_of_slices(const struct organ *stack, uint64_t count, struct organ *organ);

/* A shape as text, "4096x11008", fastest axis first; "1" for a scalar. */
#define SHAPE_TEXT_MAX 96
const char *shape_text(const uint64_t ne[GGML_AXES], uint32_t dims, char out[SHAPE_TEXT_MAX]);

/* Print the sizes that make a tensor short (types.h), as the end of a sentence: the bytes in its
 * file and the bytes needed. Returns out. */
#define ORGAN_SHORT_MAX (SHAPE_TEXT_MAX + TYPE_NAME_MAX + 96)
const char *organ_short_text(const struct organ *organ, char out[ORGAN_SHORT_MAX]);

/* Returns 0, or for a short tensor -EINVAL with the reason. which: noun for it, "the organ". */
int organ_check_whole(const struct organ *organ, const char *which, struct error *err);

#endif
