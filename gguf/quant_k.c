/* SPDX-License-Identifier: MIT */
/* quant_k.c - the K quants: superblocks of 256 elements in parts of 16 or 32, whose scales are
 * themselves quantised. dequant_k.c has the drawings of the blocks. Without importance the parts'
 * scales are rounded (quantize_row_TYPE_ref()), with it they are searched for as the values are
 * (quantize_row_TYPE_impl()). */
#include "quant_internal.h"

#define SUPER 256

/* Scales, minima, sums of weights, and levels, of the parts of a superblock. */
struct super {
	float scales[16], lows[16], weights[16];
	uint8_t levels[SUPER];
};

static void keep(struct super *super, unsigned part, unsigned size, lanes scale, lanes low,
		 const struct parts *parts, const lanes *levels)
{
	const lanes weights = parts_weights(parts, size);

	memcpy(super->scales + part, &scale, sizeof(scale));
	memcpy(super->lows + part, &low, sizeof(low));
	memcpy(super->weights + part, &weights, sizeof(weights));
	parts_levels(levels, size, LANES, super->levels + part * size);
}

/* Types with a minimum: Q2_K, Q4_K and Q5_K. */

struct minimum_type {
	unsigned size;	/* of a part */
	int scale_most; /* the largest level of a scale or minimum */
	/* Larger levels, which stand for negative ones, are stored as these. */
	uint8_t plain_cap, important_cap;
	struct minimum_search plain, important;
};

/* Scales, minima and levels of the four parts from number part on. */
static void search_four(const struct minimum_type *type, const float *x, const float *importance,
			float sigma2, unsigned part, struct super *super)
{
	const unsigned size = type->size, at = part * size;
	struct parts parts;
	lanes levels[PART_MAX], scale, low, mean = { 0 };

	parts_load(parts.x, x + at, size, LANES);
	if (importance)
		parts_weigh(&parts, importance + at, lanes_all(sigma2), size, LANES);
	else if (!type->plain.absolute)
		mean = lanes_sqrt(parts_squares(&parts, size) / (float)size);
	for (unsigned i = 0; i < size && !importance; i++)
		parts.weights[i] = mean + lanes_abs(parts.x[i]);
	scale = search_minimum(importance ? &type->important : &type->plain, &parts, size, levels,
			       &low);
	keep(super, part, size, scale, low, &parts, levels);
}

/* Round n scales or minima to levels, of which `most` stands for the largest. Returns the scale of
 * the levels. */
static float round_positive(const float *x, int n, int most, uint8_t *levels)
{
	float largest = 0, inverse;

	for (int i = 0; i < n; i++)
		largest = x[i] > largest ? x[i] : largest;
	inverse = largest > 0 ? (float)most / largest : 0.0f;
	for (int i = 0; i < n; i++)
		levels[i] = (uint8_t)nearest(inverse * x[i]);
	return largest / (float)most;
}

/* The nearest levels for the part's scale and minimum as they decode. A part of scale 0 keeps the
 * levels of the search. */
static void requantise(const float *x, unsigned size, int most, float scale, float low,
		       uint8_t *levels)
{
	if (scale == 0.0f)
		return;
	for (unsigned i = 0; i < size; i++)
		levels[i] = (uint8_t)clamp(nearest((x[i] + low) / scale), 0, most);
}

/* Store the levels of the scales and the minima: low and high nibbles in Q2_K, else six bits each,
 * which six_bits() reads. A level with more bits spoils its neighbours, as in ggml. */
static void put_scales(const struct minimum_type *type, const uint8_t scales[16],
		       const uint8_t lows[16], uint8_t *s)
{
	if (type->size == 16) {
		for (int g = 0; g < 16; g++)
			s[g] = (uint8_t)(scales[g] | lows[g] << 4);
		return;
	}
	for (int g = 0; g < 4; g++) {
		s[g] = (uint8_t)(scales[g] | scales[g + 4] >> 4 << 6);
		s[g + 4] = (uint8_t)(lows[g] | lows[g + 4] >> 4 << 6);
		s[g + 8] = (uint8_t)((scales[g + 4] & 15) | (lows[g + 4] & 15) << 4);
	}
}

/* Levels of the values, by the scales and minima that are stored. */
static void requantise_all(const struct minimum_type *type, const float *x, const uint8_t *d,
			   const uint8_t *s, uint8_t levels[SUPER])
{
	const float scale = load_half(d), low = load_half(d + 2);

	for (unsigned at = 0; at < SUPER; at += type->size) {
		const int g = (int)(at / type->size);
		int sc = s[g] & 15, mn = s[g] >> 4;

		if (type->size == 32)
			six_bits(s, g, &sc, &mn);
		requantise(x + at, type->size, type->plain.levels, scale * (float)sc,
			   low * (float)mn, levels + at);
	}
}

/* Scales at s, d and dmin at d, and the levels of the values of a superblock, in super; sigma2 is
 * used with importance only. */
static void encode_minima(const struct minimum_type *type, const float *x, const float *importance,
			  float sigma2, uint8_t *s, uint8_t *d, struct super *super)
{
	const int parts = SUPER / (int)type->size, most = type->scale_most;
	const uint8_t cap = importance ? type->important_cap : type->plain_cap;
	uint8_t scales[16], lows[16];
	float scale, low;

	for (unsigned part = 0; part < (unsigned)parts; part += LANES)
		search_four(type, x, importance, sigma2, part, super);
	if (importance) {
		scale = search_positive(super->scales, super->weights, parts, most, scales);
		low = search_positive(super->lows, super->weights, parts, most, lows);
	} else {
		scale = round_positive(super->scales, parts, most, scales);
		low = round_positive(super->lows, parts, most, lows);
	}
	for (int g = 0; g < parts; g++) {
		scales[g] = scales[g] < cap ? scales[g] : cap;
		lows[g] = lows[g] < cap ? lows[g] : cap;
	}
	store_half(d, scale);
	store_half(d + 2, low);
	put_scales(type, scales, lows, s);
	requantise_all(type, x, d, s, super->levels);
}

/* Two bits of each level: element 128h + 32k + j in the bits 2k, 2k + 1 of qs[32h + j]. */
static void put_pairs(uint8_t *qs, const uint8_t levels[SUPER])
{
	for (int i = 0; i < 64; i++) {
		const uint8_t *l = levels + i / 32 * 128 + i % 32;

		qs[i] = (uint8_t)((l[0] & 3) | (l[32] & 3) << 2 | (l[64] & 3) << 4 |
				  (l[96] & 3) << 6);
	}
}

/* quantize_row_q2_K_ref(), quantize_row_q2_K_impl() */
void quant_q2_k(const float *x, uint64_t n, const float *importance, uint8_t *b)
{
	static const struct minimum_type type = {
		16, 15, 255, 255, { 3, -0.5f, 0.1f, 15, true }, { 3, -0.9f, 0.05f, 36, false }
	};

	for (uint64_t at = 0; at < n; at += SUPER, b += 84) {
		const float sigma2 = importance ? sum_of_squares(x + at, SUPER) / SUPER : 0;
		struct super super;

		encode_minima(&type, x + at, importance ? importance + at : NULL, sigma2, b, b + 80,
			      &super);
		put_pairs(b + 16, super.levels);
	}
}

/* Low nibbles: element 64r + j in the low nibble of qs[32r + j], element 64r + 32 + j in the high
 * one. */
static void put_nibbles(uint8_t *qs, const uint8_t levels[SUPER])
{
	for (int i = 0; i < 128; i++) {
		const uint8_t *l = levels + i / 32 * 64 + i % 32;

		qs[i] = (uint8_t)((l[0] & 15) | (l[32] & 15) << 4);
	}
}

/* quantize_row_q4_K_ref(), quantize_row_q4_K_impl() */
void quant_q4_k(const float *x, uint64_t n, const float *importance, uint8_t *b)
{
	static const struct minimum_type type = {
		32, 63, 63, 255, { 15, -1.0f, 0.1f, 20, false }, { 15, -0.9f, 0.05f, 36, false }
	};

	for (uint64_t at = 0; at < n; at += SUPER, b += 144) {
		const float sigma2 = importance ? 2 * sum_of_squares(x + at, SUPER) / SUPER : 0;
		struct super super;

		encode_minima(&type, x + at, importance ? importance + at : NULL, sigma2, b + 4, b,
			      &super);
		put_nibbles(b + 16, super.levels);
	}
}

/* quantize_row_q5_K_ref(), quantize_row_q5_K_impl() */
void quant_q5_k(const float *x, uint64_t n, const float *importance, uint8_t *b)
{
	static const struct minimum_type type = {
		32, 63, 63, 63, { 31, -0.5f, 0.1f, 15, false }, { 31, -0.9f, 0.05f, 36, false }
	};

	for (uint64_t at = 0; at < n; at += SUPER, b += 176) {
		const float sigma2 = importance ? 2 * sum_of_squares(x + at, SUPER) / SUPER : 0;
		struct super super;

		encode_minima(&type, x + at, importance ? importance + at : NULL, sigma2, b + 4, b,
			      &super);
		memset(b + 16, 0, 32);
		for (int i = 0; i < SUPER; i++)
			b[16 + i % 32] |= (uint8_t)(super.levels[i] >> 4 << i / 32);
		put_nibbles(b + 48, super.levels);
	}
}

/* Types without a minimum: Q3_K and Q6_K. */

/* The scale with the largest magnitude, the first of several. */
static float extreme_of(const float *scales, float *magnitude)
{
	float extreme = 0;

	*magnitude = 0;
	for (int g = 0; g < 16; g++) {
		if (fabsf(scales[g]) > *magnitude) {
			*magnitude = fabsf(scales[g]);
			extreme = scales[g];
		}
	}
	return extreme;
}

/* The nearest levels for the part's scale as it decodes, as requantise(). */
static void requantise_centred(const float *x, int half, float scale, uint8_t *levels)
{
	if (scale == 0.0f)
		return;
	for (int i = 0; i < 16; i++)
		levels[i] = (uint8_t)(clamp(nearest(x[i] / scale), -half, half - 1) + half);
}

/* The scales and levels of the four parts from number part on. */
static void search_q3_k(const float *x, const float *importance, float sigma2, unsigned part,
			struct super *super)
{
	struct parts parts;
	lanes levels[16], scale;

	parts_load(parts.x, x + 16 * part, 16, LANES);
	if (importance) {
		parts_weigh(&parts, importance + 16 * part, lanes_all(sigma2), 16, LANES);
		scale = search_scale(&parts, 16, 4, levels);
	} else {
		parts_square(&parts, 16);
		scale = search_scale_q3(&parts, 16, 4, levels);
	}
	keep(super, part, 16, scale, (lanes){ 0 }, &parts, levels);
}

/* Levels of the sixteen scales, from 0 to 63, and the scale of these. */
static float scale_levels_q3_k(const struct super *super, bool search, uint8_t levels[16])
{
	float magnitude, extreme, inverse;

	if (search) {
		struct parts parts;
		lanes found[16], scale;

		/* One part of sixteen scales. */
		parts_load(parts.x, super->scales, 16, 1);
		parts_load(parts.weights, super->weights, 16, 1);
		scale = search_scale(&parts, 16, 32, found);
		parts_levels(found, 16, 1, levels);
		return scale[0];
	}
	extreme = extreme_of(super->scales, &magnitude);
	memset(levels, 0, 16);
	if (extreme == 0.0f)
		return 0;
	inverse = -32.0f / extreme;
	for (int g = 0; g < 16; g++)
		levels[g] =
			(uint8_t)(clamp((int8_t)nearest(inverse * super->scales[g]), -32, 31) + 32);
	return 1 / inverse;
}

/* Store the levels of sixteen scales as q3_scale() of dequant_k.c reads them. */
static void put_scales_q3_k(uint8_t *s, const uint8_t levels[16])
{
	memset(s, 0, 12);
	for (int g = 0; g < 16; g++) {
		s[g % 8] |= (uint8_t)((levels[g] & 15) << (g < 8 ? 0 : 4));
		s[8 + g % 4] |= (uint8_t)(levels[g] >> 4 << 2 * (g / 4));
	}
}

/* quantize_row_q3_K_ref(), quantize_row_q3_K_impl() */
void quant_q3_k(const float *x, uint64_t n, const float *importance, uint8_t *b)
{
	for (uint64_t at = 0; at < n; at += SUPER, b += 110) {
		const float sigma2 = importance ? 2 * sum_of_squares(x + at, SUPER) / SUPER : 0;
		uint8_t scales[16];
		struct super super;

		for (unsigned part = 0; part < 16; part += LANES)
			search_q3_k(x + at, importance ? importance + at : NULL, sigma2, part,
				    &super);
		store_half(b + 108, scale_levels_q3_k(&super, importance, scales));
		put_scales_q3_k(b + 96, scales);
		for (int g = 0; g < 16; g++)
			requantise_centred(x + at + 16 * g, 4,
					   load_half(b + 108) * (float)(scales[g] - 32),
					   super.levels + 16 * g);
		memset(b, 0, 32);
		for (int i = 0; i < SUPER; i++)
			b[i % 32] |= (uint8_t)(super.levels[i] >> 2 << i / 32);
		put_pairs(b + 32, super.levels);
	}
}

/* |ql 128|qh 64|: see dequant_q6_k() */
static void put_levels_q6_k(uint8_t *b, const uint8_t levels[SUPER])
{
	for (int i = 0; i < 64; i++) {
		const uint8_t *l = levels + i / 32 * 128 + i % 32;
		uint8_t *ql = b + i / 32 * 64 + i % 32;

		ql[0] = (uint8_t)((l[0] & 15) | (l[64] & 15) << 4);
		ql[32] = (uint8_t)((l[32] & 15) | (l[96] & 15) << 4);
		b[128 + i] =
			(uint8_t)(l[0] >> 4 | l[32] >> 4 << 2 | l[64] >> 4 << 4 | l[96] >> 4 << 6);
	}
}

/* The levels of the scales and the values of a superblock that is not zero. */
static void encode_q6_k(const float *x, float extreme, struct super *super, uint8_t *b)
{
	const float inverse = -128.0f / extreme;

	store_half(b + 208, 1 / inverse);
	for (int g = 0; g < 16; g++) {
		const int level = clamp(nearest(inverse * super->scales[g]), INT32_MIN, 127);

		b[192 + g] = (uint8_t)level;
		requantise_centred(x + 16 * g, 32, load_half(b + 208) * (float)(int8_t)level,
				   super->levels + 16 * g);
	}
	put_levels_q6_k(b, super->levels);
}

/* quantize_row_q6_K_ref(), quantize_row_q6_K_impl(), which takes the importance as it is */
void quant_q6_k(const float *x, uint64_t n, const float *importance, uint8_t *b)
{
	for (uint64_t at = 0; at < n; at += SUPER, b += 210) {
		struct super super;
		float magnitude, extreme;

		for (unsigned part = 0; part < 16; part += LANES) {
			struct parts parts;
			lanes levels[16], scale;

			parts_load(parts.x, x + at + 16 * part, 16, LANES);
			if (importance)
				parts_load(parts.weights, importance + at + 16 * part, 16, LANES);
			else
				parts_square(&parts, 16);
			scale = search_scale(&parts, 16, 32, levels);
			keep(&super, part, 16, scale, (lanes){ 0 }, &parts, levels);
		}
		extreme = extreme_of(super.scales, &magnitude);
		if (magnitude < MAGNITUDE_MIN)
			memset(b, 0, 210);
		else
			encode_q6_k(x + at, extreme, &super, b);
	}
}
