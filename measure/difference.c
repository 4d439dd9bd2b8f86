/* SPDX-License-Identifier: MIT */
/* difference.c - see difference.h. */
#include "difference.h"

#include <math.h>

void difference_add(struct difference *difference, const float *a, const float *b, size_t n)
{
	struct difference sum = *difference;

	for (size_t i = 0; i < n; i++) {
		const double x = a[i], y = b[i], apart = fabs(x - y);

		/* The difference of two finite floats is finite in double precision. */
		if (!isfinite(apart)) {
			sum.nonfinite++;
			continue;
		}
		sum.pairs++;
		sum.a_squares += x * x;
		sum.b_squares += y * y;
		sum.products += x * y;
		sum.squares += apart * apart;
		sum.distances += apart;
		sum.magnitudes += fabs(x) + fabs(y);
		sum.largest = fmax(sum.largest, apart);
	}
	*difference = sum;
}

double difference_cosine(const struct difference *difference)
{
	const double lengths = sqrt(difference->a_squares) * sqrt(difference->b_squares);

	if (!(lengths > 0))
		return NAN;
	/* Rounding may exceed 1 slightly. */
	return fmax(-1, fmin(1, difference->products / lengths));
}

double difference_relative(const struct difference *difference)
{
	if (difference->pairs == 0)
		return NAN;
	if (difference->squares == 0)
		return 0;
	return sqrt(difference->squares) / sqrt(difference->a_squares);
}

double difference_average(const struct difference *difference)
{
	if (difference->pairs == 0)
		return NAN;
	if (difference->distances == 0)
		return 0;
	/* There are twice as many magnitudes as distances. */
	return 75 * 2 * difference->distances / difference->magnitudes;
}
