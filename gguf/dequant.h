/* SPDX-License-Identifier: MIT */
/* dequant.h - the values in a tensor's blocks, as float32, bit for bit as ggml decodes them.
 * Source of every layout and formula: ggml's reference decoders (ggml-quants.c); each is drawn
 * above its code. All arithmetic is binary32 in the order written, so the compiler must not
 * contract a product and a sum (-ffp-contract=off). */
#ifndef GGUF_DEQUANT_H
#define GGUF_DEQUANT_H

#include <stdbool.h>
#include <stdint.h>

/* Is there a decoder for the type? Not for unknown types and Q8_1, which holds activations. */
bool dequant_supported(uint32_t type);

/* Decode n blocks to n * block_elements floats. The type is supported; bytes may be unaligned. */
void dequant_blocks(uint32_t type, const void *bytes, uint64_t n, float *out);

/* Decode count elements after the first `skip` ones (skip < block_elements). bytes points to the
 * first of the blocks that contain them. */
void dequant_range(uint32_t type, const void *bytes, uint64_t skip, uint64_t count, float *out);

#endif
