/* SPDX-License-Identifier: MIT */
/* sample.h - selects the values of a tensor for a measure. A small tensor is read whole; of a
 * larger one spans of 256 neighbouring values, one from each of equally long strata. 256 is a
 * multiple of all ggml block lengths, so a span consists of whole blocks and can be decoded alone.
 * There is no shared state and no randomness: a tensor always has the same spans. */
#ifndef MEASURE_SAMPLE_H
#define MEASURE_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#define SAMPLE_SPAN 256

/* Greatest number of values. The default gives 390 spans, 99,840 values. */
#define SAMPLE_DEFAULT	 100000
#define SAMPLE_LIMIT_MIN SAMPLE_SPAN
#define SAMPLE_LIMIT_MAX UINT32_MAX

/* Neighbouring values of a tensor in storage order: start and count in elements. */
struct span {
	uint64_t start;
	uint32_t count;
};

/* An iterator over the spans of one tensor. */
struct sample {
	uint64_t elements;
	uint64_t tiles;	      /* of 256 values, the last may be shorter; 0: one span has all */
	uint64_t tile;	      /* the first tile that may still be taken */
	uint32_t spans, next; /* number of spans; number of the next one */
};

/* Begin for a tensor of so many elements. Up to `limit` elements form one span. Otherwise there are
 * limit / 256 spans of 256 values, of which the tensor's last one may be shorter. A limit outside
 * [SAMPLE_LIMIT_MIN, SAMPLE_LIMIT_MAX] is replaced by the nearer of the two. */
void sample_init(struct sample *sample, uint64_t elements, uint64_t limit);

/* Get the next span; spans ascend and do not overlap. False after the last one. */
bool sample_next(struct sample *sample, struct span *span);

/* Room needed for the values of all spans, at most the limit. */
uint64_t sample_most(const struct sample *sample);

/* Number of values in all spans. */
uint64_t sample_total(uint64_t elements, uint64_t limit);

#endif
