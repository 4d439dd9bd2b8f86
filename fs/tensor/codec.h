/* SPDX-License-Identifier: MIT */
/* codec.h - decodes the values of a tensor on disk to float32, and selects the type of computed
 * values (gguf/quant.h encodes them). */
#ifndef FS_TENSOR_CODEC_H
#define FS_TENSOR_CODEC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct backing;

/* A backing of a tensor's values as float32 in native byte order, decoded block by block when read.
 * The tensor's blocks begin at offset in file, of which the backing takes a reference.
 * dequant_supported(type) is true, and elements are whole blocks. NULL: out of memory, or larger
 * than a file may be. */
struct backing *decode_new(struct backing *file, uint64_t offset, uint32_t type, uint64_t elements);

/* Are the type's values decodable weights? Not those of integers and F64: counts and tables. */
bool decode_gives_weights(uint32_t type);

/* Decode n consecutive blocks of that type, from block number `first` on, to n * block_elements
 * values. scratch has DECODE_SCRATCH bytes. flags, stop and result as for
 * backing_read_cancellable(). */
#define DECODE_SCRATCH ((size_t)1 << 17)
int decode_read(struct backing *file, uint64_t offset, uint32_t type, unsigned flags,
		uint64_t first, uint64_t n, void *scratch, float *values, const atomic_bool *stop);

/* The choice of a type for values computed from a tensor (-o merged=). */
enum encode_choice {
	ENCODE_KEEP, /* the tensor's own type, if it has an encoder that needs no weights */
	ENCODE_Q8_0, /* Q8_0, whose own error is very small */
	ENCODE_F16,
	ENCODE_CHOICES
};

/* "keep", "q8_0", "f16" */
const char *encode_choice_name(enum encode_choice choice);

/* The type for values computed from a tensor of that type, with rows of that length. F32 stays; F16
 * and BF16 stay unless the choice is ENCODE_F16. If rows are not whole blocks of the chosen type,
 * the result is Q8_0, or if that does not fit either, F16. */
uint32_t encode_type(uint32_t type, uint64_t row, enum encode_choice choice);

/* Does the type have an encoder for rows of that length? Rows are encoded as a whole in memory, so
 * a row has at most ENCODE_ROW_MAX values. */
#define ENCODE_ROW_MAX ((uint64_t)1 << 20)
bool encode_fits(uint32_t type, uint64_t row);

/* encode_fits() for an encoder that works without an importance matrix. */
bool encode_supported(uint32_t type, uint64_t row);

#endif
