/* SPDX-License-Identifier: MIT */
/* radix.h - floats in order, by the bits of their values: three passes of counting, which is
 * several times as fast as comparing. */
#ifndef MEASURE_RADIX_H
#define MEASURE_RADIX_H

#include <stddef.h>
#include <stdint.h>

/* Sort n floats, none of them NaN, ascending; -0 and +0 may come in either order. scratch has room
 * for 2n numbers. */
void radix_sort(float *values, size_t n, uint32_t *scratch);

#endif
