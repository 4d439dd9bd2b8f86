/* SPDX-License-Identifier: MIT */
/* dequant.h - the values in a tensor's blocks, as float32, bit for bit as ggml decodes them.
 * Source of every layout and formula: ggml's reference decoders (ggml-quants.c); each is drawn
 * above its code. All arithmetic is binary32 in the order written, so the compiler must not
 * contract a product and a sum (-ffp-contract=off). */
#ifndef GGUF_DEQUANT_H
#define GGUF_DEQUANT_H

#include <stdbool.h>
#include <stdint.h>

/* Are there values in blocks of this type? Not in those of unknown types, and not in Q8_1, which
 * holds activations. */
bool dequant_supported(uint32_t type);

/* Decode n consecutive blocks to n * block_elements floats. The type is supported; bytes need no
 * alignment. */
void dequant_blocks(uint32_t type, const void *bytes, uint64_t n, float *out);

/* Decode count elements, of which skip precede them in the first block (skip < block_elements).
 * bytes are the blocks that hold them, from the first one's start. */
void dequant_range(uint32_t type, const void *bytes, uint64_t skip, uint64_t count, float *out);

#endif
