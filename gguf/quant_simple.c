/* SPDX-License-Identifier: MIT */
/* quant_simple.c - blocks of 32 to 128 elements with one scale, or a scale and a minimum, and
 * ternary ones. dequant_simple.c has the drawings of the blocks. */
#include "quant_internal.h"

#include <float.h>

/* Q4_0, Q4_1, Q5_0 and Q5_1: blocks of 32 values. */

/* A row and its type. */
struct encoded_row {
	int size;      /* count of levels, 16 or 32 */
	bool is_above; /* the levels count from a minimum, not from the middle one */
	const float *x;
	const float *importance; /* or NULL */
	float sigma2;		 /* mean square of the row, used with importance only */
};

/* Scales, minima and levels of up to four blocks. */
struct group {
	float scales[LANES], lows[LANES];
	uint8_t levels[LANES][32];
};

static inline float inverse_of(float scale)
{
	return scale != 0.0f ? 1.0f / scale : 0.0f;
}

static inline uint8_t level_of(float value, int size)
{
	const int level = truncate(value);

	return (uint8_t)(level < size - 1 ? level : size - 1);
}

/* quantize_row_q4_0_ref(), quantize_row_q5_0_ref(): the value with the largest magnitude becomes
 * level 0. */
static float round_centred(const float *x, int size, uint8_t levels[32])
{
	const float half = (float)(size / 2);
	float magnitude = 0, extreme = 0, scale, inverse;

	for (int j = 0; j < 32; j++) {
		const bool larger = magnitude < fabsf(x[j]);

		magnitude = larger ? fabsf(x[j]) : magnitude;
		extreme = larger ? x[j] : extreme;
	}
	scale = extreme / -half;
	inverse = inverse_of(scale);
	for (int j = 0; j < 32; j++)
		levels[j] = level_of(x[j] * inverse + (half + 0.5f), size);
	return scale;
}

/* quantize_row_q4_1_ref(), quantize_row_q5_1_ref() */
static float round_above(const float *x, int size, float *low, uint8_t levels[32])
{
	float least = FLT_MAX, largest = -FLT_MAX, scale, inverse;

	for (int j = 0; j < 32; j++) {
		least = x[j] < least ? x[j] : least;
		largest = x[j] > largest ? x[j] : largest;
	}
	scale = (largest - least) / (float)(size - 1);
	inverse = inverse_of(scale);
	for (int j = 0; j < 32; j++)
		levels[j] = level_of((x[j] - least) * inverse + 0.5f, size);
	*low = least;
	return scale;
}

/* quantize_row_q4_0_impl() and so on: the blocks from value at on, with importance. */
static void search_group(const struct encoded_row *row, uint64_t at, unsigned count,
			 struct group *group)
{
	const struct minimum_search search = { row->size - 1, -0.9f, 0.05f, 36, false };
	struct parts parts;
	lanes levels[32], scale, low = { 0 };

	parts_load(parts.x, row->x + at, 32, count);
	parts_weigh(&parts, row->importance + at, lanes_all(row->sigma2), 32, count);
	scale = row->is_above ? search_minimum(&search, &parts, 32, levels, &low)
			      : search_scale(&parts, 32, row->size / 2, levels);
	low = -low;
	memcpy(group->scales, &scale, sizeof(scale));
	memcpy(group->lows, &low, sizeof(low));
	parts_levels(levels, 32, count, group->levels[0]);
}

static void round_group(const struct encoded_row *row, uint64_t at, unsigned count,
			struct group *group)
{
	const float *x = row->x + at;

	for (unsigned k = 0; k < count; k++, x += 32)
		group->scales[k] =
			row->is_above ? round_above(x, row->size, &group->lows[k], group->levels[k])
				      : round_centred(x, row->size, group->levels[k]);
}

/* |scale half|, with is_above |minimum half|, with 32 levels |fifth bits u32|, |low nibbles 16| */
static uint8_t *store_block(const struct encoded_row *row, float scale, float low,
			    const uint8_t levels[32], uint8_t *b)
{
	uint32_t fifth = 0;

	store_half(b, scale);
	b += 2;
	if (row->is_above) {
		store_half(b, low);
		b += 2;
	}
	if (row->size == 32) {
		for (int j = 0; j < 32; j++)
			fifth |= (uint32_t)(levels[j] >> 4) << j;
		b = store_u32(b, fifth);
	}
	for (int j = 0; j < 16; j++)
		b[j] = (uint8_t)((levels[j] & 15) | levels[j + 16] << 4);
	return b + 16;
}

static void encode_blocks(int size, bool is_above, const float *x, uint64_t n,
			  const float *importance, uint8_t *b)
{
	struct encoded_row row = { size, is_above, x, importance, 0 };

	if (importance)
		row.sigma2 = sum_of_squares(x, n) / (float)n;
	for (uint64_t at = 0; at < n; at += LANES * 32) {
		const uint64_t left = (n - at) / 32;
		const unsigned count = left < LANES ? (unsigned)left : LANES;
		struct group group;

		if (importance)
			search_group(&row, at, count, &group);
		else
			round_group(&row, at, count, &group);
		for (unsigned k = 0; k < count; k++)
			b = store_block(&row, group.scales[k], group.lows[k], group.levels[k], b);
	}
}

void quant_q4_0(const float *x, uint64_t n, const float *importance, uint8_t *b)
{
	encode_blocks(16, false, x, n, importance, b);
}

void quant_q4_1(const float *x, uint64_t n, const float *importance, uint8_t *b)
{
	encode_blocks(16, true, x, n, importance, b);
}

void quant_q5_0(const float *x, uint64_t n, const float *importance, uint8_t *b)
{
	encode_blocks(32, false, x, n, importance, b);
}

void quant_q5_1(const float *x, uint64_t n, const float *importance, uint8_t *b)
{
	encode_blocks(32, true, x, n, importance, b);
}

/* The other types of one scale. */

/* The largest magnitude. A NaN hides the values before it, as in ggml's MAX(). */
static inline float magnitude_of(const float *x, int n)
{
	float largest = 0;

	for (int j = 0; j < n; j++) {
		const float magnitude = fabsf(x[j]);

		largest = largest > magnitude ? largest : magnitude;
	}
	return largest;
}

/* quantize_row_q8_0_ref() */
void quant_q8_0(const float *restrict x, uint64_t n, const float *importance, uint8_t *restrict b)
{
	(void)importance;
	for (; n; n -= 32, x += 32, b += 34) {
		const float scale = magnitude_of(x, 32) / 127.0f, inverse = inverse_of(scale);

		store_half(b, scale);
		for (int j = 0; j < 32; j++) {
			const float level = x[j] * inverse;

			b[2 + j] = (uint8_t)truncate(level + half_away(level));
		}
	}
}

/* quantize_row_q1_0_ref(): the signs, and the mean magnitude. */
void quant_q1_0(const float *restrict x, uint64_t n, const float *importance, uint8_t *restrict b)
{
	(void)importance;
	for (; n; n -= 128, x += 128, b += 18) {
		float sum = 0;

		for (int j = 0; j < 128; j++)
			sum += fabsf(x[j]);
		store_half(b, sum / 128.0f);
		memset(b + 2, 0, 16);
		for (int j = 0; j < 128; j++)
			b[2 + j / 8] |= (uint8_t)((x[j] >= 0.0f) << j % 8);
	}
}

/* quantize_row_q2_0_ref(). NaNs are ignored in the search for the largest magnitude. */
void quant_q2_0(const float *restrict x, uint64_t n, const float *importance, uint8_t *restrict b)
{
	(void)importance;
	for (; n; n -= 64, x += 64, b += 18) {
		float scale = 0, inverse;

		for (int j = 0; j < 64; j++)
			scale = fabsf(x[j]) > scale ? fabsf(x[j]) : scale;
		inverse = inverse_of(scale);
		store_half(b, scale);
		memset(b + 2, 0, 16);
		for (int j = 0; j < 64; j++) {
			const float level = x[j] * inverse;
			const int q = clamp(truncate(level + half_away(level)) + 1, 0, 3);

			b[2 + j / 4] |= (uint8_t)(q << 2 * (j % 4));
		}
	}
}

/* Low bits of lroundf(value) + 1. For a NaN or a value out of range lroundf() has low bits of 0. */
static inline unsigned trit_of(float value)
{
	const float rounded = value + half_away(value);

	return (unsigned)(fabsf(rounded) < 0x1p63f ? (int64_t)rounded : 0) + 1;
}

/* The trits of count values, `stride` apart, the first in the highest place, as a fraction of a
 * byte that is rounded up. A byte holds five trits; a missing fifth is 0. */
static inline uint8_t trits(const float *x, int stride, int count, float inverse)
{
	unsigned q = 0;

	for (int k = 0; k < 5; k++)
		q = 3 * q + (k < count ? trit_of(x[k * stride] * inverse) : 0);
	return (uint8_t)(((q & 255) * 256 + 242) / 243);
}

/* quantize_row_tq1_0_ref() */
void quant_tq1_0(const float *restrict x, uint64_t n, const float *importance, uint8_t *restrict b)
{
	(void)importance;
	for (; n; n -= 256, x += 256, b += 54) {
		const float scale = magnitude_of(x, 256), inverse = inverse_of(scale);

		for (int i = 0; i < 32; i++)
			b[i] = trits(x + i, 32, 5, inverse);
		for (int i = 0; i < 16; i++)
			b[32 + i] = trits(x + 160 + i, 16, 5, inverse);
		for (int i = 0; i < 4; i++)
			b[48 + i] = trits(x + 240 + i, 4, 4, inverse);
		store_half(b + 52, scale);
	}
}

/* quantize_row_tq2_0_ref() */
void quant_tq2_0(const float *restrict x, uint64_t n, const float *importance, uint8_t *restrict b)
{
	(void)importance;
	for (; n; n -= 256, x += 256, b += 66) {
		const float scale = magnitude_of(x, 256), inverse = inverse_of(scale);

		store_half(b + 64, scale);
		for (int i = 0; i < 64; i++) {
			const float *first = x + i / 32 * 128 + i % 32;
			unsigned q = 0;

			for (int k = 0; k < 4; k++)
				q |= (trit_of(first[32 * k] * inverse) & 3) << 2 * k;
			b[i] = (uint8_t)q;
		}
	}
}
