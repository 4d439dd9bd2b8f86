/* SPDX-License-Identifier: MIT */
/* quant_fp4.c - MXFP4, NVFP4, IQ4_NL and IQ4_XS: four bits choose one of sixteen values.
 * dequant_simple.c and dequant_iq.c have the drawings of the blocks. */
#include "dequant_grids.h"
#include "quant_internal.h"

/* Indexes of count values, half of them in the low nibbles, the other half in the high ones. */
static inline void put_nibbles(uint8_t *qs, const uint8_t *indexes, int count)
{
	for (int j = 0; j < count / 2; j++)
		qs[j] = (uint8_t)(indexes[j] | indexes[j + count / 2] << 4);
}

/* MXFP4 and NVFP4. */

static float magnitude_of(const float *x, int n)
{
	float largest = 0;

	for (int j = 0; j < n; j++)
		largest = largest < fabsf(x[j]) ? fabsf(x[j]) : largest;
	return largest;
}

/* best_index_mxfp4(): the index of the nearest value, the first of several, for a multiple of four
 * elements. */
static void nearest_fp4(const float *x, int n, float scale, uint8_t *indexes)
{
	for (int j = 0; j < n; j += LANES) {
		lanes least, value, best = { 0 };

		memcpy(&value, x + j, sizeof(value));
		least = lanes_abs((float)kvalues_mxfp4[0] * scale - value);
		for (int i = 1; i < 16; i++) {
			const lanes off = lanes_abs((float)kvalues_mxfp4[i] * scale - value);

			best = lanes_pick(off < least, lanes_all((float)i), best);
			least = lanes_min(off, least);
		}
		parts_levels(&best, 1, LANES, indexes + j);
	}
}

/* quantize_row_mxfp4_ref(). An exponent that is out of range, as that of subnormal values, is
 * stored by its low bits; the values decode to zeros. */
void quant_mxfp4(const float *x, uint64_t n, const float *importance, uint8_t *b)
{
	(void)importance;
	for (; n; n -= 32, x += 32, b += 17) {
		const float magnitude = magnitude_of(x, 32);
		const float exponent = magnitude > 0.0f ? floorf(log2f(magnitude)) - 2 + 127 : 0;
		uint8_t indexes[32];

		b[0] = (uint8_t)truncate(exponent);
		nearest_fp4(x, 32, e8m0_scale(b[0]), indexes);
		put_nibbles(b + 1, indexes, 32);
	}
}

/* ggml_fp32_to_ue4m3(): an unsigned E4M3. */
static uint8_t ue4m3_of(float value)
{
	const uint32_t bits = bits_of_float(value);
	const int exponent = (int)(bits >> 23 & 255) - 120;
	int code;

	if (!(value > 0.0f))
		return 0;
	if (exponent <= 0)
		return (uint8_t)clamp(truncate(value * 512.0f + 0.5f), 0, 7);
	/* The mantissa is rounded up from its middle; the carry goes into the exponent. */
	code = exponent * 8 + ((int)(bits >> 19 & 15) + 1) / 2;
	return (uint8_t)(code < 15 * 8 ? code : 0x7e);
}

/* quantize_row_nvfp4_ref() */
void quant_nvfp4(const float *x, uint64_t n, const float *importance, uint8_t *b)
{
	(void)importance;
	for (; n; n -= 64, x += 64, b += 36) {
		for (int s = 0; s < 4; s++) {
			uint8_t indexes[16];

			b[s] = ue4m3_of(magnitude_of(x + 16 * s, 16) / 6.0f);
			nearest_fp4(x + 16 * s, 16, ue4m3_scale(b[s]), indexes);
			put_nibbles(b + 4 + 8 * s, indexes, 16);
		}
	}
}

/* IQ4_NL and IQ4_XS. */

/* The middle between two of the sixteen values. best_index_int8() takes the upper value from there
 * on; the rounding of its differences never moves that bound. */
static inline float middle(int i)
{
	return 0.5f * (float)(kvalues_iq4nl[i] + kvalues_iq4nl[i + 1]);
}

/* The nearest of the values; the largest for a NaN. */
static inline lanes nearest_value(lanes x)
{
	lanes value = lanes_all(kvalues_iq4nl[0]);

	for (int i = 0; i < 15; i++) {
		const lanes step = lanes_all((float)(kvalues_iq4nl[i + 1] - kvalues_iq4nl[i]));

		value += (lanes)((int_lanes)step & ~(x < middle(i)));
	}
	return value;
}

/* Store the indexes of the values nearest to 32 elements times inverse. */
static void put_indexes(uint8_t *qs, const float *x, float inverse)
{
	uint8_t indexes[32];

	for (int j = 0; j < 32; j++) {
		const float value = inverse * x[j];
		int index = 0;

		for (int i = 0; i < 15; i++)
			index += !(value < middle(i));
		indexes[j] = (uint8_t)index;
	}
	put_nibbles(qs, indexes, 32);
}

static lanes sums_at(const struct parts *parts, lanes inverse, lanes *sum_l2)
{
	lanes sum_lx = { 0 };

	*sum_l2 = (lanes){ 0 };
	for (int j = 0; j < 32; j++) {
		const lanes x = parts->x[j], value = nearest_value(inverse * x);
		const lanes weighted = parts->weights[j] * value;

		sum_lx += weighted * x;
		*sum_l2 += weighted * value;
	}
	return sum_lx;
}

/* quantize_row_iq4_nl_impl(), with ntry 7: the scales of four parts of 32 values. */
static lanes search_codebook(const struct parts *parts)
{
	const float first = (float)kvalues_iq4nl[0];
	lanes magnitude, sum_l2, sum_lx, scale, best;
	const lanes extreme = parts_extreme(parts, 32, &magnitude);

	sum_lx = sums_at(parts, 1.0f / (-extreme / first), &sum_l2);
	scale = lanes_pick(sum_l2 > 0.0f, sum_lx / sum_l2, (lanes){ 0 });
	best = scale * sum_lx;
	for (int step = -7; step <= 7; step++) {
		int_lanes better;

		sum_lx = sums_at(parts, ((float)step + first) / extreme, &sum_l2);
		better = (sum_l2 > 0.0f) & (sum_lx * sum_lx > best * sum_l2);
		scale = lanes_pick(better, sum_lx / sum_l2, scale);
		best = lanes_pick(better, scale * sum_lx, best);
	}
	return lanes_pick(magnitude < MAGNITUDE_MIN, (lanes){ 0 }, scale);
}

/* The scales of count parts, at most four; sigma2 is twice a mean square. */
static void find_scales(const float *x, const float *importance, unsigned count,
			const lanes *sigma2, float scales[LANES])
{
	struct parts parts;
	lanes found;

	parts_load(parts.x, x, 32, count);
	if (importance)
		parts_weigh(&parts, importance,
			    sigma2 ? *sigma2 : parts_squares(&parts, 32) * (2.0f / 32), 32, count);
	else
		parts_square(&parts, 32);
	found = search_codebook(&parts);
	memcpy(scales, &found, sizeof(found));
}

void quant_iq4_nl(const float *x, uint64_t n, const float *importance, uint8_t *b)
{
	for (uint64_t at = 0; at < n; at += LANES * 32) {
		const uint64_t left = (n - at) / 32;
		const unsigned count = left < LANES ? (unsigned)left : LANES;
		float scales[LANES];

		find_scales(x + at, importance ? importance + at : NULL, count, NULL, scales);
		for (unsigned k = 0; k < count; k++, b += 18) {
			store_half(b, scales[k]);
			put_indexes(b + 2, x + at + 32 * k,
				    scales[k] != 0.0f ? 1.0f / scales[k] : 0.0f);
		}
	}
}

/* Scale, levels of the parts' scales, and indexes of a superblock. */
static void encode_iq4_xs(const float *x, const float scales[8], uint8_t *b)
{
	float magnitude = 0, extreme = 0, scale, inverse;
	uint32_t high = 0;

	for (int p = 0; p < 8; p++) {
		if (fabsf(scales[p]) > magnitude) {
			magnitude = fabsf(scales[p]);
			extreme = scales[p];
		}
	}
	scale = -extreme / 32.0f;
	inverse = scale != 0.0f ? 1.0f / scale : 0.0f;
	store_half(b, scale);
	memset(b + 4, 0, 4);
	for (int p = 0; p < 8; p++) {
		const int level = clamp(nearest(inverse * scales[p]), -32, 31);
		const float part = scale * (float)level;

		put_indexes(b + 8 + 16 * p, x + 32 * p, part != 0.0f ? 1.0f / part : 0.0f);
		b[4 + p / 2] |= (uint8_t)(((level + 32) & 15) << 4 * (p % 2));
		high |= (uint32_t)(level + 32) >> 4 << 2 * p;
	}
	store_u16(b + 2, high);
}

void quant_iq4_xs(const float *x, uint64_t n, const float *importance, uint8_t *b)
{
	for (uint64_t at = 0; at < n; at += 256, b += 136) {
		const lanes sigma2 =
			lanes_all(importance ? sum_of_squares(x + at, 256) * (2.0f / 256) : 0);
		float scales[8];

		for (unsigned p = 0; p < 8; p += LANES)
			find_scales(x + at + 32 * p, importance ? importance + at + 32 * p : NULL,
				    LANES, &sigma2, scales + p);
		encode_iq4_xs(x + at, scales, b);
	}
}
