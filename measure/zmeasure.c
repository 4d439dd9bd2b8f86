/* SPDX-License-Identifier: MIT */
/* zmeasure.c - see zmeasure.h. */
#include "distribution.h"
#include "moments.h"
#include "radix.h"
#include "sample.h"
#include "score.h"
#include "zmeasure.h"
#include "zmeasure_internal.h"

#include <math.h>

#define MIN_VALUES   8
#define LOW_N_VALUES 512

struct zmeasure zmeasure_unknown(enum zmeasure_status status)
{
	return (struct zmeasure){ .status = status,
				  .entropy = NAN,
				  .kurtosis = NAN,
				  .spacing = NAN,
				  .signal = NAN,
				  .theta = NAN,
				  .magnitude = NAN,
				  .min = NAN,
				  .max = NAN,
				  .mean = NAN,
				  .deviation = NAN,
				  .zeros = NAN };
}

const char *zmeasure_status_name(enum zmeasure_status status)
{
	static const char *const names[] = {
		[ZMEASURE_OK] = "ok",	    [ZMEASURE_CONSTANT] = "constant",
		[ZMEASURE_ZERO] = "zero",   [ZMEASURE_SHORT] = "short",
		[ZMEASURE_SPIKE] = "spike", [ZMEASURE_NONFINITE] = "nonfinite",
	};

	return names[status];
}

/* A zero is stored without a sign, which would depend on the order of the values. */
static void describe(struct zmeasure *result, const struct moments *moments)
{
	const double n = (double)moments->finite;

	result->min = (double)moments->min + 0.0;
	result->max = (double)moments->max + 0.0;
	result->mean = moments->min == moments->max ? result->min : moments->sum / n;
	result->zeros = (double)moments->zeros / n;
}

bool zmeasure_settle(struct zmeasure *result, const struct moments *moments, uint64_t elements)
{
	*result = (struct zmeasure){ .status = ZMEASURE_OK };
	result->elements = elements;
	result->sampled = moments->finite + moments->nonfinite;
	result->nonfinite = moments->nonfinite;
	result->low_n = moments->finite < LOW_N_VALUES;
	if (moments->finite == 0) {
		result->status = ZMEASURE_NONFINITE;
		result->signal = result->theta = NAN;
		result->min = result->max = result->mean = NAN;
		result->deviation = result->zeros = NAN;
		return true;
	}
	describe(result, moments);
	if (moments->min == moments->max)
		result->status = moments->min == 0.0f ? ZMEASURE_ZERO : ZMEASURE_CONSTANT;
	else if (moments->finite < MIN_VALUES)
		result->status = ZMEASURE_SHORT;
	return moments->min == moments->max;
}

bool zmeasure_spread(struct zmeasure *result, const struct moments *moments)
{
	result->deviation = moments_deviation(moments);
	return result->status == ZMEASURE_SHORT;
}

void zmeasure_conclude(struct zmeasure *result, const struct moments *moments,
		       const struct distribution *distribution)
{
	result->kurtosis = moments_kurtosis(moments);
	result->s_kurtosis = score_kurtosis(result->kurtosis);
	if (distribution) {
		result->entropy = distribution_entropy(distribution);
		result->spacing = distribution_spacing(distribution);
		result->s_entropy = score_entropy(result->entropy);
		result->s_spacing = score_spacing(result->spacing);
	} else {
		result->status = ZMEASURE_SPIKE;
	}
	result->signal = score_signal(result->s_entropy, result->s_kurtosis, result->s_spacing);
	result->theta = score_theta(result->signal);
	result->has_magnitude = moments_slope(moments, &result->magnitude);
}

typedef void add_piece(struct moments *moments, const float *piece, size_t count);

static void add_pieces(add_piece *add, struct moments *moments, const float *values, size_t count)
{
	for (size_t at = 0; at < count; at += SAMPLE_SPAN)
		add(moments, values + at, count - at < SAMPLE_SPAN ? count - at : SAMPLE_SPAN);
}

/* The first index in [from, to) whose key is at least this, or to. */
static size_t lower_bound(const uint32_t *keys, size_t from, size_t to, uint32_t key)
{
	while (from < to) {
		const size_t middle = from + (to - from) / 2;

		if (keys[middle] < key)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* The index, from here on, of the next value that the distribution needs, or the last index. */
static size_t next_place(const struct distribution *distribution, const uint32_t *keys, size_t from,
			 size_t n)
{
	size_t place = lower_bound(keys, from, n - 1, radix_key_above(distribution->next_edge));

	if (distribution->next_rank < place)
		place = (size_t)distribution->next_rank;
	return place > from ? place : from;
}

/* Most values are skipped, because they are not near an edge or quantile. */
static void read_sorted(struct distribution *distribution, const uint32_t *keys, size_t n)
{
	for (size_t from = 0, end; from < n; from = end) {
		const size_t place = next_place(distribution, keys, from, n);
		const size_t start = lower_bound(keys, from, place, keys[place]);

		end = lower_bound(keys, place, n, keys[place] + 1);
		if (start > from) {
			const uint32_t before = keys[start - 1];
			const size_t first = lower_bound(keys, from, start, before);

			distribution_add(distribution, (double)radix_value(before), first,
					 start - first);
		}
		distribution_add(distribution, (double)radix_value(keys[place]), start,
				 end - start);
	}
	distribution_end(distribution);
}

/* Two arrays of keys, between which sorting moves them. */
size_t zmeasure_scratch(size_t n)
{
	return 2 * n * sizeof(uint32_t);
}

void zmeasure(const float *values, size_t n, uint64_t elements, void *scratch,
	      struct zmeasure *result)
{
	struct moments moments;
	struct distribution distribution;
	const uint32_t *keys;
	uint64_t lowest, highest;

	moments_init(&moments);
	add_pieces(moments_add, &moments, values, n);
	if (zmeasure_settle(result, &moments, elements))
		return;
	moments_centre(&moments);
	add_pieces(moments_add_centred, &moments, values, n);
	if (zmeasure_spread(result, &moments))
		return;
	keys = radix_sort(values, n, scratch, (uint32_t *)scratch + n);
	lowest = distribution_lowest_rank(moments.finite);
	highest = moments.finite - 1 - lowest;
	if (keys[lowest] == keys[highest]) {
		zmeasure_conclude(result, &moments, NULL);
		return;
	}
	distribution_begin(&distribution, moments.finite, (double)radix_value(keys[lowest]),
			   (double)radix_value(keys[highest]));
	read_sorted(&distribution, keys, (size_t)moments.finite);
	zmeasure_conclude(result, &moments, &distribution);
}
