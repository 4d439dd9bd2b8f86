/* SPDX-License-Identifier: MIT */
/* zstream.h - the Z-measure of all values of a tensor that need not fit in memory: the values are
 * fed in chunks, in storage order, up to three times.
 *
 *	zstream_begin(z);
 *	do
 *		for each chunk of the tensor
 *			zstream_add(z, chunk, count);
 *	while (zstream_again(z));
 *	zstream_end(z, &result);
 *
 * The result equals zmeasure() of all values at once, bit for bit. Entropy and spacing need few
 * points of the distribution function, and for each only a value's rank, ties and neighbours. The
 * passes determine these:
 *
 *	1  mean; a histogram over the upper 19 bits of the values' keys (radix.h)
 *	2  central moments and the Haar pyramid; a histogram over the lower 13 bits inside the at
 *	   most 67 bins that hold a quantile, lo or hi: these are exact now, and so are the edges
 *	   of the entropy's bins
 *	3  count, least and greatest value with their ties of the at most 194 cells into which
 *	   those edges and quantiles cut the line: all ranks, ties and neighbours are exact now
 *
 * The memory is sizeof(struct zstream), below 5 MiB, for any tensor. Equal values, or none
 * that are finite, need one pass, few values or a spike two, as zstream_again() tells. */
#ifndef MEASURE_ZSTREAM_H
#define MEASURE_ZSTREAM_H

#include "distribution.h"
#include "moments.h"
#include "sample.h"
#include "zmeasure.h"

#define ZSTREAM_UPPER (1u << 19)
#define ZSTREAM_LOWER (1u << 13)

/* the quantiles, lo and hi */
#define ZSTREAM_RANKS (DISTRIBUTION_SPACINGS + 3)

/* cells into which the inner edges, and both sides of each quantile, divide the line */
#define ZSTREAM_CELLS (DISTRIBUTION_BINS - 1 + 2 * (DISTRIBUTION_SPACINGS + 1) + 1)

enum zstream_pass { ZSTREAM_FIRST, ZSTREAM_SECOND, ZSTREAM_THIRD, ZSTREAM_DONE };

/* The bin of pass 1 that contains a rank; after pass 2, key is the value at this rank. */
struct zstream_rank {
	uint64_t rank, below; /* below: number of values in lower bins */
	uint32_t bin, key;
};

struct zstream_cell {
	uint64_t count, min_ties, max_ties;
	uint32_t min, max;
};

/* State of a measure, in the caller's memory; all members are private. One thread at a time. */
struct zstream {
	enum zstream_pass pass;
	struct zmeasure result;
	struct moments moments;
	struct distribution distribution;
	struct zstream_rank ranks[ZSTREAM_RANKS]; /* ascending */
	uint32_t n_cells;
	uint32_t from[ZSTREAM_CELLS + 1]; /* least key of each cell, and one above all */
	struct zstream_cell cells[ZSTREAM_CELLS];
	size_t pending; /* values of an incomplete piece */
	float piece[SAMPLE_SPAN];
	union {
		uint64_t upper[ZSTREAM_UPPER]; /* pass 1 */
		struct {
			uint8_t row[ZSTREAM_UPPER]; /* index in lower[]; 0: none */
			uint64_t lower[ZSTREAM_RANKS + 1][ZSTREAM_LOWER];
		} second;
		uint8_t cell_of[1u << 16]; /* pass 3: first possible cell by the upper 16 bits */
	} tables;
};

void zstream_begin(struct zstream *z);

/* Add the next count values of this pass. Chunks may have any length and differ between passes. */
void zstream_add(struct zstream *z, const float *values, size_t count);

/* End a pass. True: the same values are needed once more, from the first on. If others come, the
 * result is meaningless, but the call is safe. */
bool zstream_again(struct zstream *z);

/* Call after zstream_again() has returned false. */
void zstream_end(const struct zstream *z, struct zmeasure *result);

#endif
