/* SPDX-License-Identifier: MIT */
/* quant_iq1.c - IQ1_M: a group of eight values is a point of a grid, whose coordinates -1, 0 and 1
 * (q 0, 1 and 2) are shifted up or down by an eighth. dequant_iq.c has the drawing of the block. */
#include "dequant_grids.h"
#include "quant_internal.h"

#include <float.h>

#define SUPER 256
#define PART  16
#define GROUP 8 /* values of a point; a part has two */
#define GRID  ((int)(sizeof(iq1s_grid) / sizeof(iq1s_grid[0])))

/* Shifted values by q. */
static const float up[3] = { -1 + 0.125f, 0.125f, 1 + 0.125f };
static const float down[3] = { -1 - 0.125f, -0.125f, 1 - 0.125f };

/* The shifts of the two groups, by their number: up up, up down, down up, down down. */
static const float *shifted(int shifts, int group)
{
	return (group == 0 ? shifts < 2 : shifts % 2 == 0) ? up : down;
}

/* Part of a superblock: values and weights, and the best encoding so far. */
struct ternary {
	const float *x;
	float weights[PART];
	float scale;
	int shifts;
	uint8_t q[PART];
};

static uint8_t coordinate(int point, int i)
{
	return (uint8_t)((int8_t)(iq1s_grid[point] >> 8 * i & 255) + 1);
}

/* A byte of 1 for each byte of the entry that is not 0. */
#define ONES 0x0101010101010101u

/* The squared distance of two entries: 1 for each coordinate where one of both is 0, 4 where both
 * have different signs. */
static inline unsigned distance(uint64_t a, uint64_t b)
{
	const uint64_t one = (a ^ b) & ONES, four = a & b & ONES & (a ^ b) >> 7;

	return (unsigned)((one + 4 * four) * ONES >> 56);
}

/* The distances of the grid's points from a group. Returns the third least distance, equal ones
 * counted once, or 0 if the group is the grid's point *same. */
static unsigned find_distances(const uint8_t q[GROUP], uint8_t distances[GRID], int *same)
{
	uint64_t entry = 0, seen = 0;

	for (int i = 0; i < GROUP; i++)
		entry |= (uint64_t)(uint8_t)(q[i] - 1) << 8 * i;
	for (int point = 0; point < GRID; point++) {
		const unsigned d = distance(entry, iq1s_grid[point]);

		if (d == 0) {
			*same = point;
			return 0;
		}
		distances[point] = (uint8_t)d;
		seen |= (uint64_t)1 << d;
	}
	seen &= seen - 1;
	seen &= seen - 1;
	return (unsigned)__builtin_ctzll(seen);
}

/* The weighted error of a point of the grid. */
static float point_error(const struct ternary *part, int group, const float *values, int point)
{
	float error = 0;

	for (int i = 0; i < GROUP; i++) {
		const int at = GROUP * group + i;
		const float off = part->scale * values[coordinate(point, i)] - part->x[at];

		error += part->weights[at] * off * off;
	}
	return error;
}

/* The grid point for the group: the group itself if the grid has it, else the point with the least
 * error of those at the three least distances; of equally good ones the nearest
 * (iq1_find_best_neighbour2()). If no error is a number, ggml reads out of bounds; here the result
 * is point 0. */
static int find_point(const struct ternary *part, int group, bool *is_on_grid)
{
	const float *values = shifted(part->shifts, group);
	uint8_t distances[GRID];
	float least = FLT_MAX;
	int best = 0;
	const unsigned most = find_distances(part->q + GROUP * group, distances, &best);

	if (most == 0)
		return best;
	*is_on_grid = false;
	for (int point = 0; point < GRID; point++) {
		float error;

		if (distances[point] > most)
			continue;
		error = point_error(part, group, values, point);
		if (error < least ||
		    (error == least && error < FLT_MAX && distances[point] < distances[best])) {
			least = error;
			best = point;
		}
	}
	return best;
}

/* Weights times value times shifted q, and weights times its square, of a value with each q: lane k
 * has the shifts number k. */
struct terms {
	lanes qx[3], q2[3];
};

static void make_terms(const struct ternary *part, const uint8_t order[PART],
		       struct terms terms[PART])
{
	for (int j = 0; j < PART; j++) {
		const int i = order[j], group = i / GROUP;
		const float w = part->weights[i];

		for (int q = 0; q < 3; q++) {
			const lanes value = { shifted(0, group)[q], shifted(1, group)[q],
					      shifted(2, group)[q], shifted(3, group)[q] };

			terms[j].qx[q] = w * value * part->x[i];
			terms[j].q2[q] = w * value * value;
		}
	}
}

/* The indexes of the values in ascending order; equal values stay in their order. */
static void sort_values(const float x[PART], uint8_t order[PART])
{
	for (int i = 0; i < PART; i++) {
		int j = i;

		for (; j > 0 && x[i] < x[order[j - 1]]; j--)
			order[j] = order[j - 1];
		order[j] = (uint8_t)i;
	}
}

struct ternary_split {
	int first, second; /* values from first have q 1, from second q 2 */
	float score;
};

/* Take the split if one of its shifts scores higher. */
static void try_split(struct ternary *part, struct ternary_split *best, int first, int second,
		      lanes qx, lanes q2)
{
	if (!lanes_any((q2 > 0.0f) & (qx * qx > best->score * q2)))
		return;
	for (int k = 0; k < 4; k++) {
		if (q2[k] > 0 && qx[k] * qx[k] > best->score * q2[k]) {
			part->scale = qx[k] / q2[k];
			part->shifts = k;
			*best = (struct ternary_split){ first, second, part->scale * qx[k] };
		}
	}
}

/* Find the split of the ordered values into three runs that has the least weighted error. Returns
 * false if there is none. */
static bool search_splits(struct ternary *part)
{
	struct ternary_split best = { -1, -1, -FLT_MAX };
	struct terms terms[PART];
	uint8_t order[PART];
	lanes low_qx = { 0 }, low_q2 = { 0 };

	sort_values(part->x, order);
	make_terms(part, order, terms);
	for (int first = 0; first <= PART; first++) {
		lanes middle_qx = low_qx, middle_q2 = low_q2;

		for (int second = first; second <= PART; second++) {
			lanes qx = middle_qx, q2 = middle_q2;

			for (int j = second; j < PART; j++) {
				qx += terms[j].qx[2];
				q2 += terms[j].q2[2];
			}
			try_split(part, &best, first, second, qx, q2);
			if (second < PART) {
				middle_qx += terms[second].qx[1];
				middle_q2 += terms[second].q2[1];
			}
		}
		if (first < PART) {
			low_qx += terms[first].qx[0];
			low_q2 += terms[first].q2[0];
		}
	}
	for (int j = 0; j < PART; j++)
		part->q[order[j]] = (uint8_t)((j >= best.first) + (j >= best.second));
	return best.first >= 0;
}

/* Make the scale positive: values and shifts change their signs with it. */
static void make_positive(struct ternary *part)
{
	if (!(part->scale < 0))
		return;
	for (int i = 0; i < PART; i++)
		part->q[i] = (uint8_t)(2 - part->q[i]);
	part->scale = -part->scale;
	part->shifts = 3 - part->shifts;
}

/* Add a part's weights times values times points times factor, and times the square of these. */
static void add_sums(const struct ternary *part, const int points[2], float factor, float *sum_qx,
		     float *sum_q2)
{
	for (int i = 0; i < PART; i++) {
		const float *values = shifted(part->shifts, i / GROUP);
		const float q = values[coordinate(points[i / GROUP], i % GROUP)] * factor;

		*sum_qx += part->weights[i] * q * part->x[i];
		*sum_q2 += part->weights[i] * q * q;
	}
}

static void load_part(struct ternary *part, const float *x, const float *importance, float sigma2)
{
	part->x = x;
	part->scale = 0;
	part->shifts = 0;
	for (int i = 0; i < PART; i++)
		part->weights[i] =
			importance ? importance[i] * sqrtf(sigma2 + x[i] * x[i]) : x[i] * x[i];
}

/* Points, scale and shifts of a loaded part. A part that counts as zero has points 0. */
static void encode_part(struct ternary *part, int points[2])
{
	bool is_on_grid = true;
	float largest = fabsf(part->x[0]), sum_qx = 0, sum_q2 = 0;

	for (int i = 1; i < PART; i++)
		largest = largest > fabsf(part->x[i]) ? largest : fabsf(part->x[i]);
	points[0] = points[1] = 0;
	if (largest < 1e-7f || !search_splits(part))
		return;
	make_positive(part);
	for (int k = 0; k < 2; k++)
		points[k] = find_point(part, k, &is_on_grid);
	if (is_on_grid)
		return;
	add_sums(part, points, 1, &sum_qx, &sum_q2);
	if (sum_qx > 0 && sum_q2 > 0)
		part->scale = sum_qx / sum_q2;
}

/* The levels of the parts' scales, and the scale that fits all values best with these. */
static void encode_scales(const struct ternary parts[SUPER / PART], int points[SUPER / PART][2],
			  float largest, uint8_t *s)
{
	float scale = largest / 15, inverse = 1 / scale, sum_qx = 0, sum_q2 = 0;
	unsigned levels[4] = { 0 };
	uint8_t half[2];

	for (int p = 0; p < SUPER / PART; p++) {
		const int level = clamp(nearest(0.5f * (inverse * parts[p].scale - 1)), 0, 7);

		levels[p / 4] |= (unsigned)level << 3 * (p % 4);
		add_sums(&parts[p], points[p], (float)(2 * level + 1), &sum_qx, &sum_q2);
	}
	if (sum_q2 > 0)
		scale = sum_qx / sum_q2;
	store_half(half, scale * 1.1125f);
	for (int i = 0; i < 4; i++)
		store_u16(s + 2 * i, levels[i] | (uint32_t)(half[i / 2] >> 4 * (i % 2) & 15) << 12);
}

/* quantize_row_iq1_m_impl() */
void quant_iq1_m(const float *x, uint64_t n, const float *importance, uint8_t *b)
{
	for (uint64_t at = 0; at < n; at += SUPER, b += 56) {
		const float sigma2 = 2 * sum_of_squares(x + at, SUPER) / SUPER;
		struct ternary parts[SUPER / PART];
		int points[SUPER / PART][2];
		float largest = 0;

		memset(b, 0, 56);
		for (int p = 0; p < SUPER / PART; p++) {
			const uint64_t from = at + (uint64_t)(PART * p);
			struct ternary *part = &parts[p];

			load_part(part, x + from, importance ? importance + from : NULL, sigma2);
			encode_part(part, points[p]);
			largest = largest > part->scale ? largest : part->scale;
			b[2 * p] = (uint8_t)points[p][0];
			b[2 * p + 1] = (uint8_t)points[p][1];
			b[32 + p] = (uint8_t)(points[p][0] >> 8 | points[p][1] >> 8 << 4);
		}
		if (largest == 0)
			continue;
		for (int p = 0; p < SUPER / PART; p++)
			b[32 + p] |=
				(uint8_t)((parts[p].shifts & 1) << 7 | (parts[p].shifts & 2) << 2);
		encode_scales(parts, points, largest, b + 48);
	}
}
