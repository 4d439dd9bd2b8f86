/* SPDX-License-Identifier: MIT */
/* narrow.h - products of rows of floats with a narrow matrix of doubles, whose columns are whole
 * strips. Each sum is computed in the order of its terms, independent of the blocks of rows. */
#ifndef MEASURE_NARROW_H
#define MEASURE_NARROW_H

#include <stddef.h>

/* columns processed at a time; stride is a multiple */
#define NARROW_STRIP 8u

/* out (n x stride) = rows (n x columns) * q (columns x stride). */
void narrow_multiply(const float *rows, size_t n, size_t columns, const double *q, size_t stride,
		     double *out);

/* next (columns x stride) += transpose of rows (n x columns) * part (n x stride). */
void narrow_add_back(const float *rows, size_t n, size_t columns, const double *part, size_t stride,
		     double *next);

#endif
