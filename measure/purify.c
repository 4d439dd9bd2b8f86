/* SPDX-License-Identifier: MIT */
/* purify.c - see purify.h. Sums are computed as several partial sums, so that additions need not
 * wait for each other. */
#include "purify.h"

#include "lanes.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define STEP (2 * LANES)

double purify_sum(const float *x, size_t count)
{
	half_lanes a = { 0 }, b = { 0 }, c = { 0 }, d = { 0 };
	size_t i = 0;

	for (; i + STEP <= count; i += STEP) {
		const wide_lanes v = lanes_widen(lanes_load(x + i));
		const wide_lanes w = lanes_widen(lanes_load(x + i + LANES));

		a += lanes_low(v);
		b += lanes_high(v);
		c += lanes_low(w);
		d += lanes_high(w);
	}
	a = (a + b) + (c + d);
	for (; i < count; i++)
		a[0] += (double)x[i];
	return a[0] + a[1];
}

static double squares_about(const float *x, size_t count, double mean)
{
	half_lanes a = { 0 }, b = { 0 }, c = { 0 }, d = { 0 };
	size_t i = 0;

	for (; i + STEP <= count; i += STEP) {
		const wide_lanes v = lanes_widen(lanes_load(x + i)) - mean;
		const wide_lanes w = lanes_widen(lanes_load(x + i + LANES)) - mean;

		a += lanes_low(v) * lanes_low(v);
		b += lanes_high(v) * lanes_high(v);
		c += lanes_low(w) * lanes_low(w);
		d += lanes_high(w) * lanes_high(w);
	}
	a = (a + b) + (c + d);
	for (; i < count; i++)
		a[0] += ((double)x[i] - mean) * ((double)x[i] - mean);
	return a[0] + a[1];
}

bool purify_measure(const float *x, size_t count, struct purify_row *row)
{
	const double n = (double)count;
	double sum;

	if (count < 4)
		return false;
	/* A finite sum shows that all values are finite: floats cannot overflow a double. */
	sum = purify_sum(x, count);
	if (!isfinite(sum))
		return false;
	row->mean = sum / n;
	row->deviation = sqrt(squares_about(x, count, row->mean) / n);
	return row->deviation > 1e-12 * fmax(fabs(row->mean), 1e-300);
}

void purify_normalise(const struct purify_row *row, const float *x, size_t count, float *normal)
{
	const double mean = row->mean, scale = 1.0 / row->deviation;
	size_t i = 0;

	for (; i + LANES <= count; i += LANES)
		lanes_store(normal + i,
			    lanes_narrow((lanes_widen(lanes_load(x + i)) - mean) * scale));
	for (; i < count; i++)
		normal[i] = (float)(((double)x[i] - mean) * scale);
}

void purify_add(struct purify_rest *rest, const float *z, size_t count)
{
	rest->sum += purify_sum(z, count);
	rest->squares += squares_about(z, count, 0.0);
}

/* No value is farther from the mean than deviation * sqrt(count), so the loop is rarely needed. */
static bool fits(const struct purify_row *row, const float *z, size_t count, double scale,
		 double shift, double most)
{
	const double bound = fabs(row->mean) + row->deviation * sqrt((double)count);

	if (bound < 0.999 * most)
		return true;
	for (size_t i = 0; i < count; i++)
		if (fabs((double)z[i] * scale + shift) > most)
			return false;
	return true;
}

bool purify_restore(const struct purify_row *row, const struct purify_rest *rest, const float *z,
		    size_t count, float most, float *y)
{
	const double n = (double)count, mean = rest->sum / n;
	const double variance = rest->squares / n - mean * mean;
	double scale, shift;
	size_t i = 0;

	/* the variance is below the rounding error of the sums */
	if (!(variance > 1e-24 + 1e-14 * mean * mean))
		return false;
	scale = row->deviation / sqrt(variance);
	shift = row->mean - mean * scale;
	if (!fits(row, z, count, scale, shift, (double)most))
		return false;
	for (; i + LANES <= count; i += LANES)
		lanes_store(y + i, lanes_narrow(lanes_widen(lanes_load(z + i)) * scale + shift));
	for (; i < count; i++)
		y[i] = (float)((double)z[i] * scale + shift);
	return true;
}

bool purify_unchanged(const float *x, size_t count, float *y)
{
	if (y != x)
		memcpy(y, x, count * sizeof(*x));
	return false;
}
