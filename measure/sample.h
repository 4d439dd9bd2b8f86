/* SPDX-License-Identifier: MIT */
/* sample.h - which values of a tensor are looked at: all of them where they are few, else spans of
 * 256 that lie irregularly over the whole. The same tensor size gives the same spans. */
#ifndef MEASURE_SAMPLE_H
#define MEASURE_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

/* Elements of a span: a whole number of blocks of every ggml type. */
#define SAMPLE_SPAN 256

/* So many values are looked at unless something else is asked for. */
#define SAMPLE_DEFAULT 100000

/* Consecutive elements of a tensor in storage order. */
struct span {
	uint64_t start, count;
};

/* The spans of one tensor, first to last. */
struct sample {
	uint64_t elements; /* of the tensor */
	bool whole;	   /* one span is all of it */
	uint64_t spans;	   /* in all */
	uint64_t next;	   /* number of the next one */
	uint64_t least;	   /* the next one begins at or after this many times 256 */
};

/* A tensor of so many elements, of which at most limit are looked at; limit is at least 256. */
void sample_init(struct sample *sample, uint64_t elements, uint64_t limit);

/* The next span, false after the last. */
bool sample_next(struct sample *sample, struct span *span);

/* At least as many elements as the spans have together; at most the limit. */
uint64_t sample_most(const struct sample *sample);

#endif
