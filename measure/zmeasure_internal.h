/* SPDX-License-Identifier: MIT */
/* zmeasure_internal.h - what the measure of values in memory and that of a stream of values share:
 * everything but the way to the order statistics. */
#ifndef MEASURE_ZMEASURE_INTERNAL_H
#define MEASURE_ZMEASURE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

struct distribution;
struct moments;
struct zmeasure;

/* Begin a result with what the first pass of the moments found. True: there is no more to it. */
bool zmeasure_settle(struct zmeasure *result, const struct moments *moments, uint64_t elements);

/* Add what the second pass found of how far the values are spread. True: there is no more to it. */
bool zmeasure_spread(struct zmeasure *result, const struct moments *moments);

/* Finish it when both passes are done. distribution is NULL where lo and hi are equal. */
void zmeasure_conclude(struct zmeasure *result, const struct moments *moments,
		       const struct distribution *distribution);

#endif
