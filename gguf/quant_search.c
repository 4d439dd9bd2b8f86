/* SPDX-License-Identifier: MIT */
/* quant_search.c - see quant_internal.h: the searches for the scale, and minimum, of a part. ggml's
 * name of each function stands in the header. */
#include "quant_internal.h"

void parts_load(lanes *to, const float *values, unsigned size, unsigned count)
{
	const float *part[LANES];

	for (unsigned k = 0; k < LANES; k++)
		part[k] = values + (k < count ? k : 0) * size;
	for (unsigned i = 0; i < size; i++)
		to[i] = (lanes){ part[0][i], part[1][i], part[2][i], part[3][i] };
}

void parts_weigh(struct parts *parts, const float *importance, lanes sigma2, unsigned size,
		 unsigned count)
{
	parts_load(parts->weights, importance, size, count);
	for (unsigned i = 0; i < size; i++)
		parts->weights[i] *= lanes_sqrt(sigma2 + parts->x[i] * parts->x[i]);
}

void parts_square(struct parts *parts, unsigned size)
{
	for (unsigned i = 0; i < size; i++)
		parts->weights[i] = parts->x[i] * parts->x[i];
}

float sum_of_squares(const float *values, uint64_t n)
{
	float sum = 0;

	for (uint64_t i = 0; i < n; i++)
		sum += values[i] * values[i];
	return sum;
}

lanes parts_squares(const struct parts *parts, unsigned size)
{
	lanes sum = { 0 };

	for (unsigned i = 0; i < size; i++)
		sum += parts->x[i] * parts->x[i];
	return sum;
}

lanes parts_weights(const struct parts *parts, unsigned size)
{
	lanes sum = { 0 };

	for (unsigned i = 0; i < size; i++)
		sum += parts->weights[i];
	return sum;
}

void parts_levels(const lanes *levels, unsigned size, unsigned count, uint8_t *to)
{
	for (unsigned k = 0; k < count; k++)
		for (unsigned i = 0; i < size; i++)
			*to++ = (uint8_t)levels[i][k];
}

lanes parts_extreme(const struct parts *parts, unsigned size, lanes *magnitude)
{
	lanes extreme = { 0 }, most = { 0 };

	for (unsigned i = 0; i < size; i++) {
		const lanes value = lanes_abs(parts->x[i]);

		extreme = lanes_pick(value > most, parts->x[i], extreme);
		most = lanes_max(value, most);
	}
	*magnitude = most;
	return extreme;
}

/* Sums of weights times x times level, and of weights times squared levels. */
struct level_sums {
	lanes lx, l2;
};

static struct level_sums sums_at(const struct parts *parts, unsigned size, int half, lanes inverse)
{
	struct level_sums sums = { { 0 }, { 0 } };

	for (unsigned i = 0; i < size; i++) {
		const lanes x = parts->x[i], w = parts->weights[i];
		const lanes level = lanes_level(inverse * x, (float)-half, (float)(half - 1));

		sums.lx += w * x * level;
		sums.l2 += w * level * level;
	}
	return sums;
}

/* Make level 0 half; the levels of a part that counts as zero become 0. */
static void shift_levels(lanes *levels, unsigned size, int half, int_lanes zero)
{
	for (unsigned i = 0; i < size; i++)
		levels[i] = lanes_pick(zero, (lanes){ 0 }, levels[i] + (float)half);
}

lanes search_scale(const struct parts *parts, unsigned size, int half, lanes *levels)
{
	lanes magnitude;
	const lanes extreme = parts_extreme(parts, size, &magnitude);
	const int_lanes zero = magnitude < MAGNITUDE_MIN;
	lanes inverse = (float)-half / extreme, scale, best;
	struct level_sums sums = sums_at(parts, size, half, inverse);

	scale = lanes_pick(sums.l2 != 0.0f, sums.lx / sums.l2, (lanes){ 0 });
	best = scale * sums.lx;
	for (int step = -9; step <= 9; step++) {
		const lanes other = -((float)half + 0.1f * (float)step) / extreme;
		int_lanes better;

		if (step == 0)
			continue;
		sums = sums_at(parts, size, half, other);
		better = (sums.l2 > 0.0f) & (sums.lx * sums.lx > best * sums.l2);
		inverse = lanes_pick(better, other, inverse);
		scale = lanes_pick(better, sums.lx / sums.l2, scale);
		best = lanes_pick(better, scale * sums.lx, best);
	}
	for (unsigned i = 0; i < size; i++)
		levels[i] = lanes_level(inverse * parts->x[i], (float)-half, (float)(half - 1));
	shift_levels(levels, size, half, zero);
	return lanes_pick(zero, (lanes){ 0 }, scale);
}

/* One pass of changes; false if no part has one. A part without a change has none in a further pass
 * either. */
static bool improve(const struct parts *parts, unsigned size, int half, lanes *levels,
		    struct level_sums *sums)
{
	int_lanes changed = { 0 };

	for (unsigned i = 0; i < size; i++) {
		const lanes x = parts->x[i], w = parts->weights[i], old = levels[i];
		lanes lx = sums->lx - w * x * old, l2 = sums->l2 - w * old * old;
		const lanes new = lanes_level(x * l2 / lx, (float)-half, (float)(half - 1));
		int_lanes better = (lx > 0.0f) & (new != old);

		lx += w * x * new;
		l2 += w * new *new;
		better &= (l2 > 0.0f) & (lx * lx * sums->l2 > sums->lx * sums->lx * l2);
		levels[i] = lanes_pick(better, new, old);
		sums->lx = lanes_pick(better, lx, sums->lx);
		sums->l2 = lanes_pick(better, l2, sums->l2);
		changed |= better;
	}
	return lanes_any(changed);
}

lanes search_scale_q3(const struct parts *parts, unsigned size, int half, lanes *levels)
{
	lanes magnitude;
	const lanes inverse = (float)-half / parts_extreme(parts, size, &magnitude);
	const int_lanes zero = magnitude < MAGNITUDE_MIN;
	struct level_sums sums = sums_at(parts, size, half, inverse);

	for (unsigned i = 0; i < size; i++)
		levels[i] = lanes_level(inverse * parts->x[i], (float)-half, (float)(half - 1));
	for (int pass = 0; pass < 5 && improve(parts, size, half, levels, &sums); pass++)
		;
	shift_levels(levels, size, half, zero);
	return lanes_pick((sums.l2 > 0.0f) & ~zero, sums.lx / sums.l2, (lanes){ 0 });
}

/* The state of a search for scale and minimum. */
struct line {
	lanes scale, low, error;
};

/* The weighted error of x against scale * level + low. */
static lanes line_error(const struct minimum_search *search, const struct parts *parts,
			unsigned size, const lanes *levels, lanes scale, lanes low)
{
	lanes error = { 0 };

	for (unsigned i = 0; i < size; i++) {
		const lanes off = scale * levels[i] + low - parts->x[i];

		error += parts->weights[i] * (search->absolute ? lanes_abs(off) : off * off);
	}
	return error;
}

/* Replace the best line, and the levels, by the line of least squares for the levels at this
 * inverse scale if its error is less. */
static void try_line(const struct minimum_search *search, const struct parts *parts, unsigned size,
		     lanes inverse, lanes sum_w, lanes sum_x, struct line *best, lanes *levels)
{
	lanes sum_l = { 0 }, sum_l2 = { 0 }, sum_xl = { 0 }, tried[PART_MAX];
	lanes determinant, scale, low, error;
	int_lanes better;

	for (unsigned i = 0; i < size; i++) {
		const lanes x = parts->x[i];
		const lanes level =
			lanes_level(inverse * (x - best->low), 0, (float)search->levels);
		const lanes weighted = parts->weights[i] * level;

		tried[i] = level;
		sum_l += weighted;
		sum_l2 += weighted * level;
		sum_xl += weighted * x;
	}
	determinant = sum_w * sum_l2 - sum_l * sum_l;
	scale = (sum_w * sum_xl - sum_x * sum_l) / determinant;
	low = (sum_l2 * sum_x - sum_l * sum_xl) / determinant;
	scale = lanes_pick(low > 0.0f, sum_xl / sum_l2, scale);
	low = lanes_pick(low > 0.0f, (lanes){ 0 }, low);
	error = line_error(search, parts, size, tried, scale, low);
	better = (determinant > 0.0f) & (error < best->error);
	if (!lanes_any(better))
		return;
	for (unsigned i = 0; i < size; i++)
		levels[i] = lanes_pick(better, tried[i], levels[i]);
	best->scale = lanes_pick(better, scale, best->scale);
	best->low = lanes_pick(better, low, best->low);
	best->error = lanes_pick(better, error, best->error);
}

lanes search_minimum(const struct minimum_search *search, const struct parts *parts, unsigned size,
		     lanes *levels, lanes *low)
{
	lanes least = parts->x[0], most = parts->x[0], inverse;
	lanes sum_w = parts->weights[0], sum_x = sum_w * parts->x[0];
	int_lanes flat;
	struct line best;

	for (unsigned i = 1; i < size; i++) {
		least = lanes_min(parts->x[i], least);
		most = lanes_max(parts->x[i], most);
		sum_w += parts->weights[i];
		sum_x += parts->weights[i] * parts->x[i];
	}
	least = lanes_pick(least > 0.0f, (lanes){ 0 }, least);
	flat = most == least;
	inverse = (float)search->levels / (most - least);
	for (unsigned i = 0; i < size; i++)
		levels[i] = lanes_level(inverse * (parts->x[i] - least), 0, (float)search->levels);
	best = (struct line){ .scale = 1.0f / inverse, .low = least };
	best.error = line_error(search, parts, size, levels, best.scale, best.low);
	for (int i = 0; i <= search->steps; i++) {
		const float wanted =
			search->first + search->step * (float)i + (float)search->levels;

		/* The minimum of the best line so far is that of the next levels too. */
		try_line(search, parts, size, wanted / (most - best.low), sum_w, sum_x, &best,
			 levels);
	}
	for (unsigned i = 0; i < size; i++)
		levels[i] = lanes_pick(flat, (lanes){ 0 }, levels[i]);
	*low = -lanes_pick(flat, least, best.low);
	return lanes_pick(flat, (lanes){ 0 }, best.scale);
}

/* The inverse scale of nine with the least weighted error. */
static float best_inverse(const float *x, const float *weights, int n, int most, float largest)
{
	float inverse = (float)most / largest, least = 0;

	for (int i = 0; i < n; i++) {
		const uint8_t level = (uint8_t)nearest(inverse * x[i]);
		const float off = x[i] - 1.0f / inverse * (float)level;

		least += weights[i] * off * off;
	}
	for (int step = -4; step <= 4; step++) {
		const float other = (0.1f * (float)step + (float)most) / largest;
		float error = 0;

		if (step == 0)
			continue;
		for (int i = 0; i < n; i++) {
			const int level = clamp(nearest(other * x[i]), INT32_MIN, most);
			const float off = x[i] - 1.0f / other * (float)level;

			error += weights[i] * off * off;
		}
		if (error < least) {
			least = error;
			inverse = other;
		}
	}
	return inverse;
}

/* One pass of changes of single levels; false if there is none. */
static bool improve_positive(const float *x, const float *weights, int n, int most, uint8_t *levels,
			     float *sum_lx, float *sum_l2)
{
	bool changed = false;

	for (int i = 0; i < n; i++) {
		const float w = weights[i], old = (float)levels[i];
		float lx = *sum_lx - w * x[i] * old, l2 = *sum_l2 - w * old * old;
		int level;

		if (!(lx > 0 && l2 > 0))
			continue;
		level = clamp(nearest(x[i] * l2 / lx), INT32_MIN, most);
		if (level == levels[i])
			continue;
		lx += w * x[i] * (float)level;
		l2 += w * (float)level * (float)level;
		if (lx * lx * *sum_l2 > *sum_lx * *sum_lx * l2) {
			levels[i] = (uint8_t)level;
			*sum_lx = lx;
			*sum_l2 = l2;
			changed = true;
		}
	}
	return changed;
}

float search_positive(const float *x, const float *weights, int n, int most, uint8_t *levels)
{
	float largest = 0, sum_lx = 0, sum_l2 = 0, inverse;

	for (int i = 0; i < n; i++)
		largest = largest > x[i] ? largest : x[i];
	if (largest < MAGNITUDE_MIN) {
		memset(levels, 0, (size_t)n);
		return 0;
	}
	inverse = best_inverse(x, weights, n, most, largest);
	for (int i = 0; i < n; i++) {
		const int level = clamp(nearest(inverse * x[i]), INT32_MIN, most);

		levels[i] = (uint8_t)level;
		sum_lx += weights[i] * x[i] * (float)level;
		sum_l2 += weights[i] * (float)level * (float)level;
	}
	for (int pass = 0; pass < 5; pass++)
		if (!improve_positive(x, weights, n, most, levels, &sum_lx, &sum_l2))
			break;
	return sum_l2 > 0.0f ? sum_lx / sum_l2 : 0.0f;
}
