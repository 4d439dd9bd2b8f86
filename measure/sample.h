/* SPDX-License-Identifier: MIT */
/* sample.h - which values of a tensor are looked at. A small tensor is read whole; of a larger one
 * spans of 256 neighbouring values, one from each of equally long strata. 256 is a multiple of
 * every ggml block length, so that a span is whole blocks and can be decoded alone. No state is
 * shared and nothing is random: the same tensor always gives the same spans. */
#ifndef MEASURE_SAMPLE_H
#define MEASURE_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#define SAMPLE_SPAN 256

/* Values to look at, at most. The default gives 390 spans, 99,840 values. */
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
	uint64_t tiles; /* of 256 it is cut into, the last may be shorter; 0: all is one span */
	uint64_t tile;	/* the first one that may still be taken */
	uint32_t spans, next; /* spans in all; number of the next one */
};

/* Start over a tensor of so many elements. Not more than limit elements are one span. Otherwise
 * there are limit / 256 spans of 256, except that the tensor's last one may be shorter. A limit
 * outside [SAMPLE_LIMIT_MIN, SAMPLE_LIMIT_MAX] counts as the nearer of the two. */
void sample_init(struct sample *sample, uint64_t elements, uint64_t limit);

/* The next span; they ascend and do not overlap. False after the last. */
bool sample_next(struct sample *sample, struct span *span);

/* Room enough for the values of all spans; at most the limit. */
uint64_t sample_most(const struct sample *sample);

/* How many values the spans hold together. */
uint64_t sample_total(uint64_t elements, uint64_t limit);

#endif
