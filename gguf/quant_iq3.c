/* SPDX-License-Identifier: MIT */
/* quant_iq3.c - IQ3_XXS and IQ3_S: a group of four magnitudes is a point of a grid, whose
 * coordinates are the odd numbers 2q + 1, q from 0 to 7. dequant_iq.c has the drawings of the
 * blocks. If the rounded values are not a point of the grid, the search tries nearby points, from a
 * table made once for each grid (iq3xs_init_impl()). */
#include "dequant_grids.h"
#include "quant_internal.h"

#include <assert.h>
#include <float.h>
#include <pthread.h>

#define SUPER  256
#define PART   32
#define GROUPS (PART / 4) /* in a part */
#define POINTS 4096	  /* four times three bits */

struct grid {
	pthread_once_t once;
	unsigned size, distances; /* number of distances that count as near */
	uint8_t points[512][4];	  /* q of each coordinate */
	int16_t map[POINTS];	  /* index of a grid point; otherwise -1 - index of its list */
	uint16_t lists[28317];	  /* a count, and as many indexes */
};

/* Zero-initialised, so that they take no room in the executable; built at first use. */
static struct grid grid_xxs = { .once = PTHREAD_ONCE_INIT };
static struct grid grid_s = { .once = PTHREAD_ONCE_INIT };

/* Three bits for each coordinate. */
static unsigned point_of(const uint8_t q[4])
{
	return q[0] | (unsigned)q[1] << 3 | (unsigned)q[2] << 6 | (unsigned)q[3] << 9;
}

/* The squared distance of a point of the grid. */
static unsigned distance(const uint8_t q[4], unsigned point)
{
	unsigned sum = 0;

	for (int i = 0; i < 4; i++) {
		const int off = q[i] - (int)(point >> 3 * i & 7);

		sum += (unsigned)(off * off);
	}
	return sum;
}

/* List the points of the grid that are near, by distance and index. Returns how many. */
static unsigned list_near(const struct grid *grid, unsigned point, uint16_t *list)
{
	uint8_t distances[512];
	unsigned n = 0, found = 0;

	for (unsigned i = 0; i < grid->size; i++)
		distances[i] = (uint8_t)distance(grid->points[i], point);
	for (unsigned d = 1; found < grid->distances; d++) {
		const unsigned before = n;

		for (unsigned i = 0; i < grid->size; i++)
			if (distances[i] == d)
				list[n++] = (uint16_t)i;
		found += n > before;
	}
	return n;
}

static void make_map(struct grid *grid)
{
	unsigned used = 0;

	memset(grid->map, 0xff, sizeof(grid->map));
	for (unsigned i = 0; i < grid->size; i++)
		grid->map[point_of(grid->points[i])] = (int16_t)i;
	for (unsigned point = 0; point < POINTS; point++) {
		if (grid->map[point] >= 0)
			continue;
		grid->map[point] = (int16_t)(-1 - (int)used);
		grid->lists[used] = (uint16_t)list_near(grid, point, grid->lists + used + 1);
		used += 1u + grid->lists[used];
		assert(used <= sizeof(grid->lists) / sizeof(grid->lists[0]));
	}
}

/* A coordinate is stored as 2q + 1 in one grid, as about eight times q in the other. */
static void make_grid_xxs(void)
{
	grid_xxs.size = 256;
	grid_xxs.distances = 2;
	for (int i = 0; i < 256; i++)
		for (int k = 0; k < 4; k++)
			grid_xxs.points[i][k] = iq3xxs_grid[i] >> 8 * k >> 3 & 7;
	make_map(&grid_xxs);
}

static void make_grid_s(void)
{
	grid_s.size = 512;
	grid_s.distances = 3;
	for (int i = 0; i < 512; i++)
		for (int k = 0; k < 4; k++)
			grid_s.points[i][k] = iq3s_grid[i] >> 8 * k >> 1 & 7;
	make_map(&grid_s);
}

/* A part of 32 values, of which magnitudes are encoded. */
struct part {
	const struct grid *grid;
	float magnitudes[PART], weights[PART], roots[PART]; /* roots of the weights */
	uint8_t signs[PART / 8];
	uint8_t q[PART];
	bool is_on_grid[GROUPS];
};

/* iq3_find_best_neighbour(): the point of the list with the least weighted error. ggml ends if no
 * error is a number; here the first point is the result. */
static unsigned best_near(const struct grid *grid, const uint16_t *list, lanes x, lanes weights,
			  float scale)
{
	lanes errors[8]; /* of the four coordinates, by q */
	float least = FLT_MAX;
	unsigned best = list[1];

	for (int q = 0; q < 8; q++) {
		const lanes off = scale * (float)(2 * q + 1) - x;

		errors[q] = weights * off * off;
	}
	for (unsigned j = 1; j <= list[0]; j++) {
		const uint8_t *q = grid->points[list[j]];
		const float error =
			errors[q[0]][0] + errors[q[1]][1] + errors[q[2]][2] + errors[q[3]][3];

		best = error < least ? list[j] : best;
		least = error < least ? error : least;
	}
	return best;
}

/* The point for a group at a scale. Returns whether the group rounds to a point of the grid. */
static bool find_point(const struct part *part, unsigned group, float inverse, float scale,
		       uint8_t q[4])
{
	lanes x, weights, level;
	int32_t index;

	memcpy(&x, part->magnitudes + 4 * group, sizeof(x));
	level = lanes_level(0.5f * (inverse * x - 1.0f), 0, 7);
	for (int i = 0; i < 4; i++)
		q[i] = (uint8_t)level[i];
	index = part->grid->map[point_of(q)];
	if (index >= 0)
		return true;
	memcpy(&weights, part->roots + 4 * group, sizeof(weights));
	index = (int32_t)best_near(part->grid, part->grid->lists - index - 1, x, weights, scale);
	memcpy(q, part->grid->points[index], 4);
	return false;
}

/* Sums of weights times value times point, and of weights times squared points. */
static float sums_at(const struct part *part, const uint8_t q[PART], float *sum_q2)
{
	float sum_qx = 0;

	*sum_q2 = 0;
	for (int i = 0; i < PART; i++) {
		const float w = part->weights[i], point = (float)(2 * q[i] + 1);

		sum_qx += w * part->magnitudes[i] * point;
		*sum_q2 += w * point * point;
	}
	return sum_qx;
}

/* The scale, of 2 * steps + 1, with the least weighted error. */
static float search_scales(struct part *part, int steps, float largest)
{
	float best = 0, scale = largest / 15.0f;

	for (int step = -steps; step <= steps; step++) {
		const float inverse = (15.0f + (float)step * 0.2f) / largest;
		bool is_on_grid[GROUPS];
		uint8_t q[PART];
		float sum_qx, sum_q2;

		for (unsigned k = 0; k < GROUPS; k++)
			is_on_grid[k] = find_point(part, k, inverse, 1 / inverse, q + 4 * k);
		sum_qx = sums_at(part, q, &sum_q2);
		if (sum_q2 > 0 && sum_qx * sum_qx > best * sum_q2) {
			scale = sum_qx / sum_q2;
			best = scale * sum_qx;
			memcpy(part->q, q, sizeof(q));
			memcpy(part->is_on_grid, is_on_grid, sizeof(is_on_grid));
		}
	}
	return scale;
}

/* Points again for the scale found, of all groups or of those off the grid; returns the scale for
 * these. */
static float refine(struct part *part, bool all, float scale)
{
	const float inverse = 1 / scale;
	bool is_on_grid = true;
	float sum_qx, sum_q2;

	for (unsigned k = 0; k < GROUPS; k++)
		is_on_grid = is_on_grid && part->is_on_grid[k];
	if (is_on_grid || !(scale > 0))
		return scale;
	for (unsigned k = 0; k < GROUPS; k++)
		if (all || !part->is_on_grid[k])
			find_point(part, k, inverse, scale, part->q + 4 * k);
	sum_qx = sums_at(part, part->q, &sum_q2);
	return sum_q2 > 0 ? sum_qx / sum_q2 : scale;
}

/* Magnitudes, signs and weights of the part at x. */
static void load_part(struct part *part, const float *x, const float *importance, float sigma2)
{
	memset(part->signs, 0, sizeof(part->signs));
	memset(part->q, 0, sizeof(part->q));
	for (int i = 0; i < PART; i++) {
		const bool is_negative = !(x[i] >= 0);

		part->weights[i] =
			importance ? importance[i] * sqrtf(sigma2 + x[i] * x[i]) : x[i] * x[i];
		part->roots[i] = sqrtf(part->weights[i]);
		part->magnitudes[i] = is_negative ? -x[i] : x[i];
		part->signs[i / 8] |= (uint8_t)(is_negative << i % 8);
	}
}

/* The largest magnitude; a NaN hides the values before it. */
static float largest_of(const float magnitudes[PART])
{
	float largest = magnitudes[0];

	for (int i = 1; i < PART; i++)
		largest = largest > magnitudes[i] ? largest : magnitudes[i];
	return largest;
}

/* A scale is not negative; if it were, ggml flips signs. A NaN, at which ggml ends, counts as 0. */
static float positive_scale(struct part *part, float scale)
{
	for (int k = 0; k < PART / 8 && scale < 0; k++)
		part->signs[k] = (uint8_t)~part->signs[k];
	return scale == scale ? fabsf(scale) : 0;
}

/* The level of a part's scale, of 31 for the largest. */
static unsigned scale_level(float inverse, float scale)
{
	return (unsigned)clamp(nearest(0.5f * (inverse * scale - 1)), 0, 15);
}

static float largest_scale(const float scales[SUPER / PART])
{
	float largest = 0;

	for (int p = 0; p < SUPER / PART; p++)
		largest = largest > scales[p] ? largest : scales[p];
	return largest;
}

/* Seven bits of signs are stored, of which an even number are minus: of eight with an odd number,
 * the one of least weight is changed, and its magnitude is negative. */
static void even_signs(struct part *part, const float *x)
{
	for (int k = 0; k < PART / 8; k++) {
		const float *w = part->weights + 8 * k, *of = x + 8 * k;
		float least = w[0] * of[0] * of[0];
		int at = 0;

		if (__builtin_popcount(part->signs[k]) % 2 == 0)
			continue;
		for (int i = 1; i < 8; i++) {
			const float cost = w[i] * of[i] * of[i];

			if (cost < least) {
				least = cost;
				at = i;
			}
		}
		part->magnitudes[8 * k + at] = -part->magnitudes[8 * k + at];
		part->signs[k] = (uint8_t)(part->signs[k] ^ 1u << at);
	}
}

/* Signs and points of a part of IQ3_XXS; returns its scale. */
static float encode_xxs(struct part *part, const float *x, uint8_t *qs, uint32_t *word)
{
	float largest, scale;

	even_signs(part, x);
	largest = largest_of(part->magnitudes);
	*word = 0;
	memset(qs, 0, GROUPS);
	if (largest < 1e-8f)
		return 0;
	memset(part->is_on_grid, true, sizeof(part->is_on_grid));
	scale = positive_scale(part, refine(part, false, search_scales(part, 15, largest)));
	for (unsigned k = 0; k < GROUPS; k++)
		qs[k] = (uint8_t)part->grid->map[point_of(part->q + 4 * k)];
	for (int k = 0; k < PART / 8; k++)
		*word |= (uint32_t)(part->signs[k] & 127) << 7 * k;
	return scale;
}

/* quantize_row_iq3_xxs_impl() */
void quant_iq3_xxs(const float *x, uint64_t n, const float *importance, uint8_t *b)
{
	struct part part = { .grid = &grid_xxs };

	pthread_once(&grid_xxs.once, make_grid_xxs);
	for (uint64_t at = 0; at < n; at += SUPER, b += 98) {
		const float sigma2 = 2 * sum_of_squares(x + at, SUPER) / SUPER;
		uint32_t words[8];
		float scales[8], largest, scale;

		for (int p = 0; p < 8; p++) {
			const uint64_t from = at + (uint64_t)(PART * p);

			load_part(&part, x + from, importance ? importance + from : NULL, sigma2);
			scales[p] = encode_xxs(&part, x + from, b + 2 + 8 * p, &words[p]);
		}
		largest = largest_scale(scales);
		if (largest == 0) {
			memset(b, 0, 98);
			continue;
		}
		scale = largest / 31;
		store_half(b, scale * 1.0125f);
		for (int p = 0; p < 8; p++)
			store_u32(b + 66 + 4 * p, words[p] | scale_level(1 / scale, scales[p])
								     << 28);
	}
}

/* Points and signs of a part of IQ3_S; returns its scale. */
static float encode_s(struct part *part, float largest, uint8_t *qs, uint8_t *qh, uint8_t *signs)
{
	float scale;

	memset(part->is_on_grid, false, sizeof(part->is_on_grid));
	scale = positive_scale(part, refine(part, true, search_scales(part, 9, largest)));
	for (unsigned k = 0; k < GROUPS; k++) {
		const int32_t index = part->grid->map[point_of(part->q + 4 * k)];

		qs[k] = (uint8_t)index;
		*qh |= (uint8_t)(index >> 8 << k);
	}
	memcpy(signs, part->signs, PART / 8);
	return scale;
}

/* quantize_row_iq3_s_impl(). ggml does not leave room for a part of zeros: the points and signs of
 * the parts after it are stored one part earlier. The bytes here are the same. */
void quant_iq3_s(const float *x, uint64_t n, const float *importance, uint8_t *b)
{
	struct part part = { .grid = &grid_s };

	pthread_once(&grid_s.once, make_grid_s);
	for (uint64_t at = 0; at < n; at += SUPER, b += 110) {
		const float sigma2 = 2 * sum_of_squares(x + at, SUPER) / SUPER;
		uint8_t *qs = b + 2, *signs = b + 74;
		float scales[8] = { 0 }, scale, largest;

		memset(b, 0, 110);
		for (int p = 0; p < 8; p++) {
			const uint64_t from = at + (uint64_t)(PART * p);

			load_part(&part, x + from, importance ? importance + from : NULL, sigma2);
			largest = largest_of(part.magnitudes);
			if (largest == 0)
				continue;
			scales[p] = encode_s(&part, largest, qs, b + 66 + p, signs);
			qs += GROUPS;
			signs += PART / 8;
		}
		largest = largest_scale(scales);
		if (largest == 0)
			continue;
		scale = largest / 31;
		store_half(b, scale * 1.033f);
		for (int p = 0; p < 8; p++)
			b[106 + p / 2] |=
				(uint8_t)(scale_level(1 / scale, scales[p]) << 4 * (p % 2));
	}
}
