/* SPDX-License-Identifier: MIT */
/* sample.c - see sample.h.
 *
 * Span i lies in stratum i of as many strata as there are spans, at the fraction of i times the
 * golden ratio (a Weyl sequence, which spreads evenly over [0, 1)). A plain stride could meet the
 * same columns of every row of a matrix; this cannot. */
#include "sample.h"
#include "muldiv.h"

/* floor(2^32 / golden ratio): multiplied by i modulo 2^32 it is the fraction in 32 bits. */
#define WEYL 2654435769u

void sample_init(struct sample *sample, uint64_t elements, uint64_t limit)
{
	if (limit < SAMPLE_LIMIT_MIN)
		limit = SAMPLE_LIMIT_MIN;
	if (limit > SAMPLE_LIMIT_MAX)
		limit = SAMPLE_LIMIT_MAX;
	*sample = (struct sample){ .elements = elements, .spans = elements != 0 };
	if (elements <= limit)
		return;
	sample->tiles = elements / SAMPLE_SPAN + (elements % SAMPLE_SPAN != 0);
	sample->spans = (uint32_t)(limit / SAMPLE_SPAN);
}

/* The tile of span i. Two neighbouring strata may select the same tile if they are hardly longer
 * than a tile; the later one then takes the next tile. That never exceeds the last tile, since at
 * least as many tiles as spans are left. */
static uint64_t take_tile(struct sample *sample, uint32_t i)
{
	const uint64_t place = (uint64_t)i << 32 | (uint32_t)(i * WEYL);
	const uint64_t strata = (uint64_t)sample->spans << 32;
	uint64_t tile = muldiv(place, sample->tiles, strata);

	if (tile < sample->tile)
		tile = sample->tile;
	sample->tile = tile + 1;
	return tile;
}

bool sample_next(struct sample *sample, struct span *span)
{
	uint64_t left;

	if (sample->next == sample->spans)
		return false;
	if (sample->tiles == 0) {
		sample->next++;
		*span = (struct span){ 0, (uint32_t)sample->elements };
		return true;
	}
	span->start = take_tile(sample, sample->next++) * SAMPLE_SPAN;
	left = sample->elements - span->start;
	span->count = left < SAMPLE_SPAN ? (uint32_t)left : SAMPLE_SPAN;
	return true;
}

uint64_t sample_most(const struct sample *sample)
{
	return sample->tiles ? (uint64_t)sample->spans * SAMPLE_SPAN : sample->elements;
}

uint64_t sample_total(uint64_t elements, uint64_t limit)
{
	struct sample sample;
	struct span span;
	uint64_t total = 0;

	sample_init(&sample, elements, limit);
	while (sample_next(&sample, &span))
		total += span.count;
	return total;
}
