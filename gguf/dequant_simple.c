/* SPDX-License-Identifier: MIT */
/* dequant_simple.c - blocks of 32 to 128 elements with one scale, and the ternary types. In the
 * drawings a field is |name bytes|; "half" is IEEE binary16. Where sixteen bytes hold 32 nibbles,
 * the low nibble of byte j is element j, the high one element j + 16. */
#include "dequant_grids.h"
#include "dequant_internal.h"

/* |d half|qs 16|  y = (n - 8) * d */
void dequant_q4_0(const uint8_t *restrict b, uint64_t n, float *restrict y)
{
	for (; n; n--, b += 18, y += 32) {
		const float d = load_half(b);

		for (int j = 0; j < 16; j++) {
			y[j] = (float)((b[2 + j] & 15) - 8) * d;
			y[j + 16] = (float)((b[2 + j] >> 4) - 8) * d;
		}
	}
}

/* |d half|m half|qs 16|  y = n * d + m */
void dequant_q4_1(const uint8_t *restrict b, uint64_t n, float *restrict y)
{
	for (; n; n--, b += 20, y += 32) {
		const float d = load_half(b), m = load_half(b + 2);

		for (int j = 0; j < 16; j++) {
			y[j] = (float)(b[4 + j] & 15) * d + m;
			y[j + 16] = (float)(b[4 + j] >> 4) * d + m;
		}
	}
}

/* The nibble of element i with bit i of qh as its fifth. With a table of bits compilers make
 * vectors for any processor; few can shift each element by another count. */
static inline int five_bits(int nibble, uint32_t qh, int i)
{
	static const uint32_t bits[32] = {
		1u << 0,  1u << 1,  1u << 2,  1u << 3,	1u << 4,  1u << 5,  1u << 6,  1u << 7,
		1u << 8,  1u << 9,  1u << 10, 1u << 11, 1u << 12, 1u << 13, 1u << 14, 1u << 15,
		1u << 16, 1u << 17, 1u << 18, 1u << 19, 1u << 20, 1u << 21, 1u << 22, 1u << 23,
		1u << 24, 1u << 25, 1u << 26, 1u << 27, 1u << 28, 1u << 29, 1u << 30, 1u << 31,
	};

	return nibble | (qh & bits[i] ? 16 : 0);
}

/* |d half|qh u32|qs 16|  y = (q - 16) * d */
void dequant_q5_0(const uint8_t *restrict b, uint64_t n, float *restrict y)
{
	for (; n; n--, b += 22, y += 32) {
		const float d = load_half(b);
		const uint32_t qh = load_u32(b + 2);

		for (int j = 0; j < 16; j++) {
			y[j] = (float)(five_bits(b[6 + j] & 15, qh, j) - 16) * d;
			y[j + 16] = (float)(five_bits(b[6 + j] >> 4, qh, j + 16) - 16) * d;
		}
	}
}

/* |d half|m half|qh u32|qs 16|  y = q * d + m */
void dequant_q5_1(const uint8_t *restrict b, uint64_t n, float *restrict y)
{
	for (; n; n--, b += 24, y += 32) {
		const float d = load_half(b), m = load_half(b + 2);
		const uint32_t qh = load_u32(b + 4);

		for (int j = 0; j < 16; j++) {
			y[j] = (float)five_bits(b[8 + j] & 15, qh, j) * d + m;
			y[j + 16] = (float)five_bits(b[8 + j] >> 4, qh, j + 16) * d + m;
		}
	}
}

/* |d half|qs 32 int8|  y = q * d */
void dequant_q8_0(const uint8_t *restrict b, uint64_t n, float *restrict y)
{
	for (; n; n--, b += 34, y += 32) {
		const float d = load_half(b);

		for (int j = 0; j < 32; j++)
			y[j] = (float)(int8_t)b[2 + j] * d;
	}
}

/* |d half|qs 16|  y = d * kvalues[n] */
void dequant_iq4_nl(const uint8_t *restrict b, uint64_t n, float *restrict y)
{
	for (; n; n--, b += 18, y += 32) {
		const float d = load_half(b);

		for (int j = 0; j < 16; j++) {
			y[j] = d * (float)kvalues_iq4nl[b[2 + j] & 15];
			y[j + 16] = d * (float)kvalues_iq4nl[b[2 + j] >> 4];
		}
	}
}

/* |e u8|qs 16|  y = kvalues[n] * 2^(e - 128) */
void dequant_mxfp4(const uint8_t *restrict b, uint64_t n, float *restrict y)
{
	for (; n; n--, b += 17, y += 32) {
		const float s = e8m0_scale(b[0]);

		for (int j = 0; j < 16; j++) {
			y[j] = (float)kvalues_mxfp4[b[1 + j] & 15] * s;
			y[j + 16] = (float)kvalues_mxfp4[b[1 + j] >> 4] * s;
		}
	}
}

/* |d 4 u8|qs 32|  four sub-blocks of 16: the low nibbles of eight bytes, then the high ones */
void dequant_nvfp4(const uint8_t *restrict b, uint64_t n, float *restrict y)
{
	for (; n; n--, b += 36, y += 64) {
		for (int s = 0; s < 4; s++) {
			const float d = ue4m3_scale(b[s]);
			const uint8_t *qs = b + 4 + 8 * s;

			for (int j = 0; j < 8; j++) {
				y[16 * s + j] = (float)kvalues_mxfp4[qs[j] & 15] * d;
				y[16 * s + j + 8] = (float)kvalues_mxfp4[qs[j] >> 4] * d;
			}
		}
	}
}

/* |d half|qs 16|  one bit an element: 1 is d, 0 is -d */
void dequant_q1_0(const uint8_t *restrict b, uint64_t n, float *restrict y)
{
	for (; n; n--, b += 18, y += 128) {
		const uint32_t minus = bits_of_float(-load_half(b));

		for (int i = 0; i < 128; i++)
			y[i] = float_of_bits(minus ^ (uint32_t)(b[2 + i / 8] >> i % 8 & 1) << 31);
	}
}

/* |d half|qs 16|  two bits an element, four in a row to a byte: y = (q - 1) * d */
void dequant_q2_0(const uint8_t *restrict b, uint64_t n, float *restrict y)
{
	for (; n; n--, b += 18, y += 64) {
		const float d = load_half(b);

		for (int i = 0; i < 64; i++)
			y[i] = (float)((b[2 + i / 4] >> 2 * (i % 4) & 3) - 1) * d;
	}
}

/* |qs 64|d half|  y = (q - 1) * d; a run of 32 bytes holds four elements each, 32 apart */
void dequant_tq2_0(const uint8_t *restrict b, uint64_t n, float *restrict y)
{
	for (; n; n--, b += 66, y += 256) {
		const float d = load_half(b + 64);

		for (int i = 0; i < 256; i++)
			y[i] = (float)((b[i / 128 * 32 + i % 32] >> 2 * (i / 32 % 4) & 3) - 1) * d;
	}
}

/* Digit k of a byte that holds five base-3 digits as a fixed-point fraction, the first being 0. */
static inline int base3_digit(uint8_t byte, int k)
{
	static const uint8_t powers[5] = { 1, 3, 9, 27, 81 };

	return (uint8_t)(byte * powers[k]) * 3 >> 8;
}

/* |qs 48|qh 4|d half|  y = (t - 1) * d. Digit k of 32 bytes, k = 0 to 4; then of 16 bytes; then of
 * the four of qh, k = 0 to 3. */
void dequant_tq1_0(const uint8_t *restrict b, uint64_t n, float *restrict y)
{
	for (; n; n--, b += 54) {
		const float d = load_half(b + 52);

		for (int i = 0; i < 160; i++)
			*y++ = (float)(base3_digit(b[i % 32], i / 32) - 1) * d;
		for (int i = 0; i < 80; i++)
			*y++ = (float)(base3_digit(b[32 + i % 16], i / 16) - 1) * d;
		for (int i = 0; i < 16; i++)
			*y++ = (float)(base3_digit(b[48 + i % 4], i / 4) - 1) * d;
	}
}
