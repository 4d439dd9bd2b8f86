/* SPDX-License-Identifier: MIT */
/* organ.h - the organ file: one tensor with a header that says what it is.
 *
 *	name_len u32 | name | n_dims u32 | dims u64 x n_dims | dtype u32 | tensor data
 *
 * Little-endian, packed. The file ends with the data; a byte less or more and it is no organ. */
#ifndef GGUF_ORGAN_H
#define GGUF_ORGAN_H

#include "types.h"

struct error;
struct gguf_tensor;
struct source;

/* What an organ file holds, or a tensor as an organ file. */
struct organ {
	const char *name; /* exact tensor name; may hold NULs */
	uint32_t name_length;
	uint32_t dims;
	uint64_t ne[GGML_AXES]; /* unused axes are 1 */
	uint32_t type;
	uint64_t header_size; /* bytes before the data */
	uint64_t data_size;   /* bytes */
};

/* The tensor as an organ; its name is borrowed from the tensor. */
struct organ organ_of_tensor(const struct gguf_tensor *tensor);

/* Write the header, organ->header_size bytes. */
void organ_write_header(const struct organ *organ, uint8_t *bytes);

/* Read the header of an organ file and check the file's size against it. Of an unknown type any
 * size is possible. On success organ->name is the caller's to free. Errors: EBADMSG no organ file,
 * with err->offset at the first wrong byte, EIO, ENOMEM. */
int organ_parse(const struct source *source, struct organ *organ, struct error *err);

/* May this organ fill the slot of that tensor? Types may differ where both are known; shapes only
 * with any_shape. Returns 0 or -EINVAL with the reason. */
int organ_fits(const struct organ *organ, const struct gguf_tensor *slot, bool any_shape,
	       struct error *err);

/* One of the slices that an organ has along its last axis, ne[dims - 1] of them: an organ of the
 * same name and type with an axis less, or of one value. All are of one size and follow each other.
 * False: there are none, or they are no whole blocks. */
bool organ_slice(const struct organ *stack, struct organ *slice);

/* An organ of count such slices, at least one. False: it would be too large. */
bool organ_of_slices(const struct organ *stack, uint64_t count, struct organ *organ);

/* A shape as people write it, "4096x11008", fastest axis first; "1" for a scalar. */
#define SHAPE_TEXT_MAX 96
const char *shape_text(const uint64_t ne[GGML_AXES], uint32_t dims, char out[SHAPE_TEXT_MAX]);

/* Why a short tensor is short (types.h), as the end of a sentence: the bytes that its file has for
 * it and those that it needs. Returns out. */
#define ORGAN_SHORT_MAX (SHAPE_TEXT_MAX + TYPE_NAME_MAX + 96)
const char *organ_short_text(const struct organ *organ, char out[ORGAN_SHORT_MAX]);

/* Returns 0, or of a short tensor -EINVAL with the reason; which of them it is, as "the organ". */
int organ_check_whole(const struct organ *organ, const char *which, struct error *err);

#endif
