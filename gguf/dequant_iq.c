/* SPDX-License-Identifier: MIT */
/* dequant_iq.c - the IQ types: superblocks of 256 elements whose values are entries of a codebook.
 *
 * A superblock has 8 parts p of 32 elements, each of 4 groups l of 8. A codebook entry gives the
 * magnitudes of a group (of half a group in the iq3 types), a byte of signs its signs, bit j for
 * element j. Where signs are coded in seven bits, the number of minus signs is even. */
#include "dequant_grids.h"
#include "dequant_internal.h"

/* The bytes of a grid entry in memory, which vectors are loaded from. */
static inline void grid_values(uint64_t entry, int8_t values[8])
{
	store_u64((uint8_t *)values, entry);
}

/* y = (scale * magnitude) * sign for a group. */
static inline void put_group(float *restrict y, float scale, uint64_t entry, uint8_t signs)
{
	static const uint8_t bits[8] = { 1, 2, 4, 8, 16, 32, 64, 128 };
	int8_t magnitudes[8];

	grid_values(entry, magnitudes);
	for (int j = 0; j < 8; j++)
		y[j] = scale * (float)magnitudes[j] * (signs & bits[j] ? -1.0f : 1.0f);
}

/* |d half|8 x two u32|  of the first word each byte an index, of the second 7 bits of signs a group
 * and four of scale */
void dequant_iq2_xxs(const uint8_t *restrict b, uint64_t n, float *restrict y)
{
	for (; n; n--, b += 66) {
		const float d = load_half(b);

		for (int p = 0; p < 8; p++) {
			const uint8_t *indexes = b + 2 + 8 * p;
			const uint32_t w = load_u32(b + 6 + 8 * p);
			const float scale = (d * (0.5f + (float)(w >> 28))) * 0.25f;

			for (int l = 0; l < 4; l++, y += 8)
				put_group(y, scale, iq2xxs_grid[indexes[l]],
					  ksigns_iq2xs[w >> 7 * l & 127]);
		}
	}
}

/* The scale of a group in the types with a nibble for every two. */
static inline float half_part_scale(float d, uint8_t nibbles, int l)
{
	return (d * (0.5f + (float)(l < 2 ? nibbles & 15 : nibbles >> 4))) * 0.25f;
}

/* |d half|qs 32 u16|scales 8|  nine bits of index and seven of signs a group */
void dequant_iq2_xs(const uint8_t *restrict b, uint64_t n, float *restrict y)
{
	for (; n; n--, b += 74) {
		const float d = load_half(b);

		for (int g = 0; g < 32; g++, y += 8) {
			const uint16_t q = load_u16(b + 2 + 2 * g);

			put_group(y, half_part_scale(d, b[66 + g / 4], g % 4), iq2xs_grid[q & 511],
				  ksigns_iq2xs[q >> 9]);
		}
	}
}

/* |d half|qs 32|signs 32|qh 8|scales 8|  qh has the two high bits of each index of its part */
void dequant_iq2_s(const uint8_t *restrict b, uint64_t n, float *restrict y)
{
	for (; n; n--, b += 82) {
		const float d = load_half(b);

		for (int g = 0; g < 32; g++, y += 8) {
			const int high = b[66 + g / 4] >> 2 * (g % 4) & 3;

			put_group(y, half_part_scale(d, b[74 + g / 4], g % 4),
				  iq2s_grid[b[2 + g] | high << 8], b[34 + g]);
		}
	}
}

/* Two entries of four magnitudes as one of eight. */
static inline uint64_t join(uint32_t low, uint32_t high)
{
	return low | (uint64_t)high << 32;
}

/* |d half|qs 64|8 u32|  two indexes a group; a word a part as in iq2_xxs */
void dequant_iq3_xxs(const uint8_t *restrict b, uint64_t n, float *restrict y)
{
	for (; n; n--, b += 98) {
		const float d = load_half(b);

		for (int p = 0; p < 8; p++) {
			const uint8_t *qs = b + 2 + 8 * p;
			const uint32_t w = load_u32(b + 66 + 4 * p);
			const float scale = (d * (0.5f + (float)(w >> 28))) * 0.5f;

			for (int l = 0; l < 4; l++, y += 8)
				put_group(y, scale,
					  join(iq3xxs_grid[qs[2 * l]], iq3xxs_grid[qs[2 * l + 1]]),
					  ksigns_iq2xs[w >> 7 * l & 127]);
		}
	}
}

/* |d half|qs 64|qh 8|signs 32|scales 4|  bit k of qh is the ninth of index k of its part */
void dequant_iq3_s(const uint8_t *restrict b, uint64_t n, float *restrict y)
{
	for (; n; n--, b += 110) {
		const float d = load_half(b);

		for (int p = 0; p < 8; p++) {
			const uint8_t *qs = b + 2 + 8 * p;
			const int s = b[106 + p / 2] >> 4 * (p % 2) & 15, qh = b[66 + p];
			const float scale = d * (float)(1 + 2 * s);

			for (int l = 0; l < 4; l++, y += 8) {
				const int low = qs[2 * l] | (qh >> 2 * l & 1) << 8;
				const int high = qs[2 * l + 1] | (qh >> (2 * l + 1) & 1) << 8;

				put_group(y, scale, join(iq3s_grid[low], iq3s_grid[high]),
					  b[74 + 4 * p + l]);
			}
		}
	}
}

/* y = scale * (value + delta) for a group of the one-bit types, whose values are -1, 0, 1. */
static inline void put_shifted(float *restrict y, float scale, uint64_t entry, bool down)
{
	const float delta = down ? -0.125f : 0.125f;
	int8_t values[8];

	grid_values(entry, values);
	for (int j = 0; j < 8; j++)
		y[j] = scale * ((float)values[j] + delta);
}

/* |d half|qs 32|qh 8 u16|  of qh three bits of index a group, three of scale, the shift */
void dequant_iq1_s(const uint8_t *restrict b, uint64_t n, float *restrict y)
{
	for (; n; n--, b += 50) {
		const float d = load_half(b);

		for (int p = 0; p < 8; p++) {
			const int h = load_u16(b + 34 + 2 * p);
			const float scale = d * (float)(2 * (h >> 12 & 7) + 1);

			for (int l = 0; l < 4; l++, y += 8) {
				const int index = b[2 + 4 * p + l] | (h >> 3 * l & 7) << 8;

				put_shifted(y, scale, iq1s_grid[index], h >> 15);
			}
		}
	}
}

/* |qs 32|qh 16|scales 4 u16|  the top nibbles of scales are the half d; below them four scales of
 * three bits each, for 16 elements. A nibble of qh: three bits of index, and the shift. */
void dequant_iq1_m(const uint8_t *restrict b, uint64_t n, float *restrict y)
{
	for (; n; n--, b += 56) {
		uint8_t bits[2] = { 0, 0 };
		float d;

		for (int i = 0; i < 4; i++)
			bits[i / 2] |= (uint8_t)(b[49 + 2 * i] >> 4 << 4 * (i % 2));
		d = load_half(bits);
		for (int g = 0; g < 32; g++, y += 8) {
			const int t = g / 2, h = b[32 + g / 2] >> 4 * (g % 2) & 15;
			const int s = load_u16(b + 48 + t / 4 * 2) >> 3 * (t % 4) & 7;

			put_shifted(y, d * (float)(2 * s + 1), iq1s_grid[b[g] | (h & 7) << 8],
				    h & 8);
		}
	}
}

/* |d half|scales_h u16|scales_l 4|qs 128|  as iq4_nl, with a scale of six bits a part */
void dequant_iq4_xs(const uint8_t *restrict b, uint64_t n, float *restrict y)
{
	for (; n; n--, b += 136, y += 256) {
		const float d = load_half(b);
		const int high = load_u16(b + 2);

		for (int p = 0; p < 8; p++) {
			const int s = (b[4 + p / 2] >> 4 * (p % 2) & 15) | (high >> 2 * p & 3) << 4;
			const float scale = d * (float)(s - 32);
			const uint8_t *qs = b + 8 + 16 * p;

			for (int j = 0; j < 16; j++) {
				y[32 * p + j] = scale * (float)kvalues_iq4nl[qs[j] & 15];
				y[32 * p + j + 16] = scale * (float)kvalues_iq4nl[qs[j] >> 4];
			}
		}
	}
}
