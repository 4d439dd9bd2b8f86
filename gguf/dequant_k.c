/* SPDX-License-Identifier: MIT */
/* dequant_k.c - the K-quants: superblocks of 256 elements in sub-blocks of 16 or 32, whose scales
 * are themselves quantised. In the drawings a field is |name bytes|. */
#include "dequant_internal.h"

/* |scales 16|qs 64|d half|dmin half|
 * Element 128h + 32k + j has the bits 2k, 2k + 1 of qs[32h + j]; sub-blocks of 16, the low nibble
 * of their scale byte scales, the high one lowers: y = (d * sc) * q - (dmin * mn) */
void dequant_q2_k(const uint8_t *restrict b, uint64_t n, float *restrict y)
{
	for (; n; n--, b += 84, y += 256) {
		const float d = load_half(b + 80), dmin = load_half(b + 82);

		for (int g = 0; g < 16; g++) {
			const float scale = d * (float)(b[g] & 15), low = dmin * (float)(b[g] >> 4);
			const uint8_t *qs = b + 16 + g / 8 * 32 + g % 2 * 16;
			const int shift = 2 * (g / 2 % 4);

			for (int j = 0; j < 16; j++)
				y[16 * g + j] = scale * (float)(qs[j] >> shift & 3) - low;
		}
	}
}

/* Scale g of 16 has six bits, of which 32 is zero: the low four in a nibble of s[g % 8], the high
 * two in s[8 + g % 4]. */
static inline int q3_scale(const uint8_t *s, int g)
{
	const int low = g < 8 ? s[g] & 15 : s[g - 8] >> 4;

	return (low | (s[8 + g % 4] >> 2 * (g / 4) & 3) << 4) - 32;
}

/* |hmask 32|qs 64|scales 12|d half|
 * Two bits as in q2_k; the third of element i is bit i / 32 of hmask[i % 32], inverted. */
void dequant_q3_k(const uint8_t *restrict b, uint64_t n, float *restrict y)
{
	for (; n; n--, b += 110, y += 256) {
		const float d = load_half(b + 108);

		for (int g = 0; g < 16; g++) {
			const float scale = d * (float)q3_scale(b + 96, g);
			const uint8_t *qs = b + 32 + g / 8 * 32 + g % 2 * 16;
			const uint8_t *high = b + g % 2 * 16;
			const int shift = 2 * (g / 2 % 4), bit = g / 2;

			for (int j = 0; j < 16; j++) {
				const int q = (qs[j] >> shift & 3) - (high[j] >> bit & 1 ? 0 : 4);

				y[16 * g + j] = scale * (float)q;
			}
		}
	}
}

/* |d half|dmin half|scales 12|qs 128|
 * A run of 32 bytes holds 32 elements in its low nibbles and the next 32 in its high ones:
 * y = (d * sc) * n - (dmin * mn) */
void dequant_q4_k(const uint8_t *restrict b, uint64_t n, float *restrict y)
{
	for (; n; n--, b += 144, y += 256) {
		const float d = load_half(b), dmin = load_half(b + 2);

		for (int g = 0; g < 8; g++) {
			const uint8_t *qs = b + 16 + g / 2 * 32;
			const int shift = 4 * (g % 2);
			float scale, low;
			int sc, mn;

			six_bits(b + 4, g, &sc, &mn);
			scale = d * (float)sc;
			low = dmin * (float)mn;
			for (int j = 0; j < 32; j++)
				y[32 * g + j] = scale * (float)(qs[j] >> shift & 15) - low;
		}
	}
}

/* |d half|dmin half|scales 12|qh 32|qs 128|
 * As q4_k, with bit g of qh[j] as the fifth of element 32g + j. */
void dequant_q5_k(const uint8_t *restrict b, uint64_t n, float *restrict y)
{
	for (; n; n--, b += 176, y += 256) {
		const float d = load_half(b), dmin = load_half(b + 2);

		for (int g = 0; g < 8; g++) {
			const uint8_t *qh = b + 16, *qs = b + 48 + g / 2 * 32;
			const int shift = 4 * (g % 2);
			float scale, low;
			int sc, mn;

			six_bits(b + 4, g, &sc, &mn);
			scale = d * (float)sc;
			low = dmin * (float)mn;
			for (int j = 0; j < 32; j++) {
				const int q = (qs[j] >> shift & 15) | (qh[j] >> g & 1) << 4;

				y[32 * g + j] = scale * (float)q - low;
			}
		}
	}
}

/* |ql 128|qh 64|scales 16 int8|d half|
 * Element 128h + 32k + j: low four bits in ql[64h + 32(k % 2) + j], low nibble for k < 2; high two
 * are bits 2k, 2k + 1 of qh[32h + j]. y = (d * sc) * (q - 32) */
void dequant_q6_k(const uint8_t *restrict b, uint64_t n, float *restrict y)
{
	for (; n; n--, b += 210, y += 256) {
		const float d = load_half(b + 208);

		for (int g = 0; g < 16; g++) {
			const float scale = d * (float)(int8_t)b[192 + g];
			const int half = g / 8, k = g / 2 % 4, first = g % 2 * 16;
			const uint8_t *ql = b + 64 * half + 32 * (k % 2) + first;
			const uint8_t *qh = b + 128 + 32 * half + first;

			for (int j = 0; j < 16; j++) {
				const int q = (ql[j] >> 4 * (k / 2) & 15) | (qh[j] >> 2 * k & 3)
										    << 4;

				y[16 * g + j] = scale * (float)(q - 32);
			}
		}
	}
}

/* |d f32|qs 256 int8|bsums 32|  y = d * q */
void dequant_q8_k(const uint8_t *restrict b, uint64_t n, float *restrict y)
{
	for (; n; n--, b += 292, y += 256) {
		const float d = load_f32(b);

		for (int j = 0; j < 256; j++)
			y[j] = d * (float)(int8_t)b[4 + j];
	}
}
