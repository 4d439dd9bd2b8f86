/* SPDX-License-Identifier: MIT */
/* zmeasures.h - Z-measures: of values, compared, and such as a test chooses. */
#ifndef TESTS_UNIT_ZMEASURES_H
#define TESTS_UNIT_ZMEASURES_H

#include "measure/zmeasure.h"
#include "tests/unit/temp_dir.h"

#include <math.h>

bool same_double(double a, double b);

bool same_z(const struct zmeasure *a, const struct zmeasure *b);

#define assert_same_z(a, b) unit_assert_same_z(a, b, __FILE__, __LINE__)

void unit_assert_same_z(const struct zmeasure *a, const struct zmeasure *b, const char *file,
			int line);

/* The measure of these values and no others. */
struct zmeasure z_of_values(const float *values, size_t n, uint64_t elements);

/* The measure of all values in whole blocks of a type. */
struct zmeasure z_of_blocks(uint32_t type, const void *bytes, uint64_t elements);

/* One that has a θ. */
struct zmeasure z_with(double theta);

/* One that has none. */
struct zmeasure z_nonfinite(void);

#endif
