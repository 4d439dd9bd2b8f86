/* SPDX-License-Identifier: MIT */
/* muldiv.h - a product of two 64-bit numbers divided by a third, with 64-bit integers only. */
#ifndef MEASURE_MULDIV_H
#define MEASURE_MULDIV_H

#include <stdint.h>

/* floor(a * b / divisor), exactly. The quotient must fit 64 bits: it does where a or b is less than
 * or equal to the divisor, which must not be 0. */
uint64_t muldiv(uint64_t a, uint64_t b, uint64_t divisor);

#endif
