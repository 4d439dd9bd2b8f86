/* SPDX-License-Identifier: MIT */
/* quantise.h - floats as numbers of fewer bits, to the bit as ggml's reference makes them
 * (ggml_fp32_to_fp16_row, ggml_fp32_to_bf16_row_ref, quantize_row_q8_0_ref). The bytes are
 * little-endian and need no alignment. */
#ifndef MEASURE_QUANTISE_H
#define MEASURE_QUANTISE_H

#include <stddef.h>
#include <stdint.h>

#define QUANTISE_Q8_0_VALUES 32 /* in a block */
#define QUANTISE_Q8_0_BYTES  34

/* The largest magnitudes of which it is certain that they stay finite. */
#define QUANTISE_F16_MOST  65504.0f
#define QUANTISE_BF16_MOST 0x1.fep127f
#define QUANTISE_Q8_0_MOST (127.0f * QUANTISE_F16_MOST)

/* IEEE binary16, 2 bytes each: the nearest, of two the even one; from 65520 on infinity. Every NaN
 * becomes the quiet one of its sign, as ggml does it in software; F16C would keep upper bits. */
void quantise_f16(const float *values, size_t count, uint8_t *bytes);

/* The upper half of the float, 2 bytes each: the nearest, of two the even one. A NaN keeps its
 * upper bits and becomes quiet. */
void quantise_bf16(const float *values, size_t count, uint8_t *bytes);

/* Blocks of 32 values: a binary16 scale, 1/127 of the largest magnitude, and 32 signed bytes. count
 * is a multiple of 32. A quotient that is no number or fits no byte, as one by a scale that is
 * infinite or too small has them, becomes 0; in C it is undefined, and x86 does this. */
void quantise_q8_0(const float *values, size_t count, uint8_t *bytes);

#endif
