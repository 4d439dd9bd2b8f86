/* SPDX-License-Identifier: MIT */
/* codec.h - the values of a tensor on disk as float32, and the type that computed values get
 * (gguf/quant.h encodes them). */
#ifndef FS_TENSOR_CODEC_H
#define FS_TENSOR_CODEC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct backing;

/* A backing of the values of a tensor, float32 in the processor's order, decoded block by block
 * when they are read. The tensor's blocks begin at offset of file, of which it takes a reference;
 * dequant_supported(type), and elements are whole blocks. NULL: out of memory, or more than a file
 * may have. */
struct backing *decode_new(struct backing *file, uint64_t offset, uint32_t type, uint64_t elements);

/* Are the values of the type weights that can be decoded? Not those of integers and F64, which hold
 * counts and tables. */
bool decode_gives_weights(uint32_t type);

/* n consecutive blocks of that type from number first on, decoded to n * block_elements values,
 * with scratch memory of DECODE_SCRATCH bytes. flags and stop: as backing_read_cancellable().
 * Returns 0 or as these. */
#define DECODE_SCRATCH ((size_t)1 << 17)
int decode_read(struct backing *file, uint64_t offset, uint32_t type, unsigned flags,
		uint64_t first, uint64_t n, void *scratch, float *values, const atomic_bool *stop);

/* The choice of a type for values computed from a tensor (-o merged=). */
enum encode_choice {
	ENCODE_KEEP, /* the tensor's own type, if it has an encoder that needs no weights */
	ENCODE_Q8_0, /* Q8_0, which adds hardly an error of its own */
	ENCODE_F16,
	ENCODE_CHOICES
};

/* "keep", "q8_0", "f16" */
const char *encode_choice_name(enum encode_choice choice);

/* The type for values computed from a tensor of that type with rows of that length. F32 always
 * stays, F16 and BF16 stay unless the choice is ENCODE_F16. If rows are not whole blocks of the
 * chosen type, the type is Q8_0 or, at last, F16. */
uint32_t encode_type(uint32_t type, uint64_t row, enum encode_choice choice);

/* Has the type an encoder for rows of that length? Rows are made as a whole, in memory: none of
 * more than ENCODE_ROW_MAX values can. */
#define ENCODE_ROW_MAX ((uint64_t)1 << 20)
bool encode_fits(uint32_t type, uint64_t row);

/* The same, without weights of an importance matrix. */
bool encode_supported(uint32_t type, uint64_t row);

#endif
