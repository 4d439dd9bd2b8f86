/* SPDX-License-Identifier: MIT */
/* fractal.c - see fractal.h. With eight levels, each block of 256 values is a pyramid of its own.
 * It is computed as four pyramids side by side in the lanes of a vector, each over a quarter of the
 * values, joined by two levels at the top. Blocks of padding alone have no detail and are skipped.
 *
 * Sums and differences are not scaled: at level j they are 2^(j/2) times the orthonormal ones, so
 * that energies and the inverse need only powers of two, which are exact.
 *
 * The pyramid is a binary heap: i is over 2i and 2i + 1, those of level j begin at length >> j. */
#include "fractal.h"

#include "lanes.h"
#include "purify.h"

#include <float.h>
#include <stdint.h>
#include <stdlib.h>

#define BLOCK  (1u << FRACTAL_LEVELS)
#define LENGTH (BLOCK / LANES)
/* energies below this part of the row's are rounding errors, not patterns */
#define RESIDUE 1e-24f

typedef int32_t lane_masks __attribute__((vector_size(LANES * sizeof(int32_t))));

struct fractal {
	size_t count;
	size_t block; /* values in a block, a power of two */
	float most;
	float *rest;
};

struct rules {
	float strength, residue;
};

/* The two levels at the top, above the four pyramids. */
struct top {
	float pair[2], whole, sum;
};

struct pyramid {
	size_t length; /* per lane */
	lanes detail[LENGTH];
	lanes energy[LENGTH];
	lanes sum[LENGTH];
	struct top top;
	lane_masks touched;
	bool top_touched;
};

/* Spread values to lanes, a quarter to each. */
static void values_to_lanes(const float *values, size_t length, lanes *v)
{
	for (size_t i = 0; i + LANES <= length; i += LANES) {
		for (size_t l = 0; l < LANES; l++)
			v[i + l] = lanes_load(values + l * length + i);
		lanes_transpose(v + i);
	}
	if (length < LANES)
		for (size_t i = 0; i < length * LANES; i++)
			v[i % length][i / length] = values[i];
}

static void lanes_to_values(lanes *v, size_t length, float *values)
{
	for (size_t i = 0; i + LANES <= length; i += LANES) {
		lanes_transpose(v + i);
		for (size_t l = 0; l < LANES; l++)
			lanes_store(values + l * length + i, v[i + l]);
	}
	if (length < LANES)
		for (size_t i = 0; i < length * LANES; i++)
			values[i] = v[i % length][i / length];
}

static void analyse(struct pyramid *p)
{
	float scale = 0.5f;

	for (size_t n = p->length / 2; n > 0; n /= 2, scale *= 0.5f)
		for (size_t i = 0; i < n; i++) {
			const lanes a = p->sum[2 * i], b = p->sum[2 * i + 1], d = a - b;

			p->sum[i] = a + b;
			p->detail[n + i] = d;
			p->energy[n + i] = d * d * scale;
		}
	p->top.pair[0] = p->sum[0][0] - p->sum[0][1];
	p->top.pair[1] = p->sum[0][2] - p->sum[0][3];
	p->top.whole = (p->sum[0][0] + p->sum[0][1]) - (p->sum[0][2] + p->sum[0][3]);
	p->top.sum = (p->sum[0][0] + p->sum[0][1]) + (p->sum[0][2] + p->sum[0][3]);
}

/* Factor for a detail with that support. FLT_MIN avoids 0 / 0. The factor of a rounding error has
 * no visible effect. */
static inline lanes gain(struct pyramid *p, const struct rules *rules, lanes energy, lanes support)
{
	const lanes bound = energy * FRACTAL_RATIO;
	const lanes part = lanes_min(support / (bound + FLT_MIN), lanes_all(1.0f));

	p->touched |= (lane_masks)(energy > rules->residue) & (lane_masks)(support < bound);
	return 1.0f - rules->strength * (1.0f - lanes_sqrt(part));
}

static float gain_at_top(struct pyramid *p, const struct rules *rules, float energy, float support)
{
	const float bound = energy * FRACTAL_RATIO;

	if (!(energy > rules->residue && support < bound))
		return 1.0f;
	p->top_touched = true;
	return 1.0f - rules->strength * (1.0f - sqrtf(support / bound));
}

/* Attenuate the two levels at the top. Returns the energies of the lower one, for the lanes. */
static lanes attenuate_top(struct pyramid *p, const struct rules *rules)
{
	const float scale = 1.0f / (2.0f * (float)p->length);
	const lanes below = p->length > 1 ? p->energy[1] : lanes_all(0.0f);
	struct top *t = &p->top;
	const float whole = t->whole * t->whole * scale * 0.5f;
	float pair[2];

	for (size_t i = 0; i < 2; i++) {
		const float support = 0.5f * (below[2 * i] + below[2 * i + 1]);

		pair[i] = t->pair[i] * t->pair[i] * scale;
		t->pair[i] *= gain_at_top(p, rules, pair[i], fmaxf(whole, support));
	}
	t->whole *= gain_at_top(p, rules, whole, 0.5f * (pair[0] + pair[1]));
	return (lanes){ pair[0], pair[0], pair[1], pair[1] };
}

static void attenuate(struct pyramid *p, const struct rules *rules)
{
	const size_t finest = p->length / 2;
	const lanes top = attenuate_top(p, rules);

	for (size_t i = 1; i < p->length; i++) {
		lanes support = i > 1 ? p->energy[i / 2] : top;

		if (i < finest) {
			const lanes pair = p->energy[2 * i] + p->energy[2 * i + 1];

			support = lanes_max(support, 0.5f * pair);
		}
		p->detail[i] *= gain(p, rules, p->energy[i], support);
	}
}

static void synthesise(struct pyramid *p)
{
	const struct top *t = &p->top;
	const float left = 0.5f * (t->sum + t->whole), right = 0.5f * (t->sum - t->whole);

	p->sum[0] = 0.5f * (lanes){ left + t->pair[0], left - t->pair[0], right + t->pair[1],
				    right - t->pair[1] };
	for (size_t n = 1; n < p->length; n *= 2)
		for (size_t i = n; i-- > 0;) {
			const lanes a = p->sum[i], d = p->detail[n + i];

			p->sum[2 * i] = 0.5f * (a + d);
			p->sum[2 * i + 1] = 0.5f * (a - d);
		}
}

struct fractal *fractal_new(size_t count, float most)
{
	struct fractal *fractal = calloc(1, sizeof(*fractal));

	if (!fractal)
		return NULL;
	fractal->count = count;
	fractal->most = most;
	for (fractal->block = LANES; fractal->block < BLOCK && fractal->block < count;)
		fractal->block *= 2;
	/* Whole blocks, so that the padding of the last one fits. */
	if (count <= SIZE_MAX / sizeof(float) - BLOCK)
		fractal->rest = calloc((count + fractal->block - 1) / fractal->block,
				       fractal->block * sizeof(float));
	if (!fractal->rest) {
		fractal_free(fractal);
		return NULL;
	}
	return fractal;
}

void fractal_free(struct fractal *fractal)
{
	if (fractal)
		free(fractal->rest);
	free(fractal);
}

/* Purify a block. True: some detail was attenuated. */
static bool purify_block(const struct rules *rules, float *values, size_t block)
{
	struct pyramid p;

	p.length = block / LANES;
	p.touched = (lane_masks){ 0 };
	p.top_touched = false;
	values_to_lanes(values, p.length, p.sum);
	analyse(&p);
	attenuate(&p, rules);
	synthesise(&p);
	lanes_to_values(p.sum, p.length, values);
	return p.top_touched || p.touched[0] || p.touched[1] || p.touched[2] || p.touched[3];
}

bool fractal_purify(struct fractal *fractal, const float *x, float *y, float strength)
{
	const size_t count = fractal->count;
	/* A row of deviation 1 has an energy equal to its length. */
	const struct rules rules = { strength, RESIDUE * (float)count };
	struct purify_rest rest = { 0 };
	struct purify_row row;
	bool touched = false;

	if (!(strength > 0.0f) || !purify_measure(x, count, &row))
		return purify_unchanged(x, count, y);
	purify_normalise(&row, x, count, fractal->rest);
	for (size_t i = 0; i < count; i += fractal->block) {
		float *values = fractal->rest + i;
		const size_t n = count - i < fractal->block ? count - i : fractal->block;

		memset(values + n, 0, (fractal->block - n) * sizeof(*values));
		touched |= purify_block(&rules, values, fractal->block);
		purify_add(&rest, values, n);
	}
	if (!touched || !purify_restore(&row, &rest, fractal->rest, count, fractal->most, y))
		return purify_unchanged(x, count, y);
	return true;
}
