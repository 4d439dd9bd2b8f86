/* SPDX-License-Identifier: MIT */
/* zmeasures.h - Z-measures of values, compared, and of a test's choice. */
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

/* Measure of exactly these values. */
struct zmeasure z_of_values(const float *values, size_t n, uint64_t elements);

/* Measure of all values in whole blocks of a type. */
struct zmeasure z_of_blocks(uint32_t type, const void *bytes, uint64_t elements);

/* A measure with that θ. */
struct zmeasure z_with(double theta);

/* A measure without θ. */
struct zmeasure z_nonfinite(void);

#endif
