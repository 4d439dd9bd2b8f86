/* SPDX-License-Identifier: MIT */
/* zstream.h - the Z-measure of every value of a tensor that need not fit in memory: its values are
 * handed over in chunks, in storage order, three times.
 *
 *	zstream_begin(z);
 *	do
 *		for each chunk of the tensor
 *			zstream_add(z, chunk, count);
 *	while (zstream_again(z));
 *	zstream_end(z, &result);
 *
 * Exact: the result is zmeasure() of all values at once, to the last bit. Entropy and spacing
 * need few points of the distribution function, and each of them only a value's rank, its ties
 * and its neighbours. The passes close in on these:
 *
 *	1  mean; a histogram over the upper 19 bits of the values' keys (radix.h)
 *	2  central moments and the Haar pyramid; a histogram over the lower 13 bits inside the at
 *	   most 67 bins that hold a quantile, lo or hi: these are exact now, and so are the edges
 *	   of the entropy's bins
 *	3  count, least and greatest value with their ties of the at most 194 cells into which
 *	   those edges and quantiles cut the line: all ranks, ties and neighbours are exact now
 *
 * The memory is sizeof(struct zstream), below 5 MiB, whatever the tensor. Equal or no finite values
 * need one pass, few of them or a spike two: zstream_again() tells. */
#ifndef MEASURE_ZSTREAM_H
#define MEASURE_ZSTREAM_H

#include "distribution.h"
#include "moments.h"
#include "sample.h"
#include "zmeasure.h"

#define ZSTREAM_UPPER (1u << 19)
#define ZSTREAM_LOWER (1u << 13)

/* The quantiles, lo and hi. */
#define ZSTREAM_RANKS (DISTRIBUTION_SPACINGS + 3)

/* What the inner edges and both sides of each quantile cut the line into. */
#define ZSTREAM_CELLS (DISTRIBUTION_BINS - 1 + 2 * (DISTRIBUTION_SPACINGS + 1) + 1)

enum zstream_pass { ZSTREAM_FIRST, ZSTREAM_SECOND, ZSTREAM_THIRD, ZSTREAM_DONE };

/* The bin of the first histogram that holds a rank; key is the value at this rank after pass 2. */
struct zstream_rank {
	uint64_t rank, below; /* below: values in lower bins */
	uint32_t bin, key;
};

struct zstream_cell {
	uint64_t count, min_ties, max_ties;
	uint32_t min, max;
};

/* Caller's memory; everything in it is private. Not for two threads at once. */
struct zstream {
	enum zstream_pass pass;
	struct zmeasure result;
	struct moments moments;
	struct distribution distribution;
	struct zstream_rank ranks[ZSTREAM_RANKS]; /* ascending */
	uint32_t n_cells;
	uint32_t from[ZSTREAM_CELLS + 1]; /* the least key of each cell; one more, above all keys */
	struct zstream_cell cells[ZSTREAM_CELLS];
	size_t pending; /* of a piece that is not full yet */
	float piece[SAMPLE_SPAN];
	union {
		uint64_t upper[ZSTREAM_UPPER]; /* pass 1 */
		struct {
			uint8_t row[ZSTREAM_UPPER]; /* in lower[], 0: none */
			uint64_t lower[ZSTREAM_RANKS + 1][ZSTREAM_LOWER];
		} second;
		uint8_t cell_of[1u << 16]; /* pass 3: by the upper 16 bits, the first it can be */
	} tables;
};

void zstream_begin(struct zstream *z);

/* The next count values of this pass. Chunks may be of any length and differ between passes. */
void zstream_add(struct zstream *z, const float *values, size_t count);

/* The pass is over. True: the same values are needed once more, from the first on. If others come,
 * the result means nothing, but nothing else goes wrong. */
bool zstream_again(struct zstream *z);

/* After zstream_again() has returned false. */
void zstream_end(const struct zstream *z, struct zmeasure *result);

#endif
