/* SPDX-License-Identifier: MIT */
/* zmeasure_internal.h - shared by the measures of values in memory and of a stream; they differ
 * only in the way to the order statistics. */
#ifndef MEASURE_ZMEASURE_INTERNAL_H
#define MEASURE_ZMEASURE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

struct distribution;
struct moments;
struct zmeasure;

/* Begin a result with the figures of the first pass. True: the result is complete. */
bool zmeasure_settle(struct zmeasure *result, const struct moments *moments, uint64_t elements);

/* Add the figures of the second pass. True: the result is complete. */
bool zmeasure_spread(struct zmeasure *result, const struct moments *moments);

/* Complete the result after both passes. distribution is NULL if lo and hi are equal. */
void zmeasure_conclude(struct zmeasure *result, const struct moments *moments,
		       const struct distribution *distribution);

#endif
