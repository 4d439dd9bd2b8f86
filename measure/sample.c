/* SPDX-License-Identifier: MIT */
/* sample.c - see sample.h. The tensor is cut into as many equal strata as there are spans to be; in
 * each a span is chosen by the golden ratio (a Weyl sequence), so that no row length makes the
 * spans hit the same columns over and over. */
#include "sample.h"

/* 2^32 / golden ratio. */
#define GOLDEN 2654435769u

void sample_init(struct sample *sample, uint64_t elements, uint64_t limit)
{
	*sample = (struct sample){ .elements = elements, .whole = elements <= limit };
	sample->spans = !sample->whole ? limit / SAMPLE_SPAN : elements ? 1 : 0;
}

/* Number of the span chosen in stratum i, counted in spans from the tensor's start. */
static uint64_t choose(const struct sample *sample, uint64_t i)
{
	const uint64_t all = (sample->elements - 1) / SAMPLE_SPAN + 1;
	const uint32_t jitter = (uint32_t)(i * GOLDEN);

	return (uint64_t)((((unsigned __int128)i << 32) + jitter) * all /
			  ((unsigned __int128)sample->spans << 32));
}

bool sample_next(struct sample *sample, struct span *span)
{
	uint64_t chosen;

	if (sample->next == sample->spans)
		return false;
	if (sample->whole) {
		*span = (struct span){ 0, sample->elements };
		sample->next++;
		return true;
	}
	chosen = choose(sample, sample->next++);
	if (chosen < sample->least)
		chosen = sample->least;
	sample->least = chosen + 1;
	span->start = chosen * SAMPLE_SPAN;
	span->count = sample->elements - span->start;
	if (span->count > SAMPLE_SPAN)
		span->count = SAMPLE_SPAN;
	return true;
}

uint64_t sample_most(const struct sample *sample)
{
	return sample->whole ? sample->elements : sample->spans * SAMPLE_SPAN;
}
