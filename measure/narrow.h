/* SPDX-License-Identifier: MIT */
/* narrow.h - rows of floats times a narrow matrix of doubles, which is in memory: it has whole
 * strips of columns. Each sum is made in the order of what is summed, whatever the blocks of rows
 * are. */
#ifndef MEASURE_NARROW_H
#define MEASURE_NARROW_H

#include <stddef.h>

/* Columns that are worked on at once: stride is a multiple of it. */
#define NARROW_STRIP 8u

/* out, n x stride, becomes rows, n x columns, times q, columns x stride. */
void narrow_multiply(const float *rows, size_t n, size_t columns, const double *q, size_t stride,
		     double *out);

/* The transpose of rows times part, n x stride, is added to next, columns x stride. */
void narrow_add_back(const float *rows, size_t n, size_t columns, const double *part, size_t stride,
		     double *next);

#endif
