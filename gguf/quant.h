/* SPDX-License-Identifier: MIT */
/* quant.h - float32 values as the blocks of a tensor's type, bit for bit as ggml encodes them.
 * Source of every formula: the functions that ggml's quantize_TYPE() (ggml-quants.c) calls, named
 * above our code. All arithmetic is binary32 in the order written, so the compiler must not
 * contract a product and a sum (-ffp-contract=off). If a conversion of a float to an integer is
 * undefined in C, as that of a NaN, the result is that of the x86 instruction. */
#ifndef GGUF_QUANT_H
#define GGUF_QUANT_H

#include <stdbool.h>
#include <stdint.h>

/* Does the type have an encoder? IQ1_S, IQ2_XXS, IQ2_XS and IQ2_S have none, nor have the
 * integer types, F64, Q8_1 and Q8_K. */
bool quant_supported(uint32_t type);

/* Does the type have an encoder that needs weights of an importance matrix? IQ1_M and IQ3_XXS. */
bool quant_needs_importance(uint32_t type);

/* Does the encoder of a supported type use weights, if there are any? */
bool quant_weighs(uint32_t type);

/* The largest magnitude that every block of a supported type encodes to finite values, for any
 * other values in the block. */
float quant_max(uint32_t type);

/* Encode a row of n values, whole blocks of a supported type, to n / block_elements blocks. bytes
 * need no alignment. importance has a weight for each value of the row, none negative, or is NULL;
 * the types for which quant_weighs() is false ignore it. Without importance,
 * several rows may be encoded as one. */
void quant_row(uint32_t type, const float *values, uint64_t n, const float *importance,
	       uint8_t *bytes);

#endif
