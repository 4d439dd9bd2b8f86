/* SPDX-License-Identifier: MIT */
/* moments.c - see moments.h. The loops compute LANES sums at a time. Compilers may not reorder a
 * sum of doubles, so parallel sums have to be written as such. */
#include "moments.h"
#include "sample.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define LANES 4

/* levels with fewer coefficients have too uncertain an energy */
#define MIN_COEFFICIENTS 64

/* lower bound for a level's energy, as a share of level 0's, for its logarithm */
#define ENERGY_FLOOR 1e-12

void moments_init(struct moments *moments)
{
	memset(moments, 0, sizeof(*moments));
	moments->min = FLT_MAX;
	moments->max = -FLT_MAX;
}

static double lanes_sum(const double lane[LANES])
{
	return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

static void add_value(struct moments *moments, float value)
{
	if (!isfinite(value)) {
		moments->nonfinite++;
		return;
	}
	moments->finite++;
	moments->zeros += value == 0.0f;
	moments->sum += (double)value;
	moments->min = value < moments->min ? value : moments->min;
	moments->max = value > moments->max ? value : moments->max;
}

/* A sum of finite floats is finite as a double, so an infinite or NaN sum reveals such values. */
void moments_add(struct moments *moments, const float *piece, size_t count)
{
	double sum[LANES] = { 0 };
	float min[LANES], max[LANES];
	uint64_t zeros[LANES] = { 0 };
	size_t i;

	for (unsigned k = 0; k < LANES; k++) {
		min[k] = moments->min;
		max[k] = moments->max;
	}
	for (i = 0; i + LANES <= count; i += LANES)
		for (unsigned k = 0; k < LANES; k++) {
			const float value = piece[i + k];

			sum[k] += (double)value;
			zeros[k] += value == 0.0f;
			min[k] = value < min[k] ? value : min[k];
			max[k] = value > max[k] ? value : max[k];
		}
	if (!isfinite(lanes_sum(sum))) {
		for (i = 0; i < count; i++)
			add_value(moments, piece[i]);
		return;
	}
	moments->sum += lanes_sum(sum);
	moments->finite += i;
	for (unsigned k = 0; k < LANES; k++) {
		moments->zeros += zeros[k];
		moments->min = min[k] < moments->min ? min[k] : moments->min;
		moments->max = max[k] > moments->max ? max[k] : moments->max;
	}
	for (; i < count; i++)
		add_value(moments, piece[i]);
}

void moments_centre(struct moments *moments)
{
	moments->mean = moments->finite ? moments->sum / (double)moments->finite : 0.0;
}

static double sum_of_squares(const double *a, size_t count)
{
	double sum[LANES] = { 0 };
	size_t i;

	for (i = 0; i + LANES <= count; i += LANES)
		for (unsigned k = 0; k < LANES; k++)
			sum[k] += a[i + k] * a[i + k];
	for (; i < count; i++)
		sum[0] += a[i] * a[i];
	return lanes_sum(sum);
}

static double sum_of_fourths(const double *a, size_t count)
{
	double sum[LANES] = { 0 };
	size_t i;

	for (i = 0; i + LANES <= count; i += LANES)
		for (unsigned k = 0; k < LANES; k++) {
			const double square = a[i + k] * a[i + k];

			sum[k] += square * square;
		}
	for (; i < count; i++)
		sum[0] += a[i] * a[i] * (a[i] * a[i]);
	return lanes_sum(sum);
}

/* Inlined twice, so that the common length is known to the compiler. */
static inline __attribute__((always_inline)) void add_centred(struct moments *moments,
							      const float *piece, size_t count)
{
	const double root_half = sqrt(0.5), mean = moments->mean;
	double a[SAMPLE_SPAN];

	if (count == 0)
		return;
	for (size_t i = 0; i < count; i++) {
		const double centred = (double)piece[i] - mean;

		a[i] = fabs(centred) <= DBL_MAX ? centred : 0.0;
	}
	moments->fourths += sum_of_fourths(a, count);
	for (unsigned level = 0; level < HAAR_LEVELS && count > 0; level++) {
		moments->energy[level] += sum_of_squares(a, count);
		moments->coefficients[level] += count;
		count /= 2;
		for (size_t i = 0; i < count; i++)
			a[i] = (a[2 * i] + a[2 * i + 1]) * root_half;
	}
}

void moments_add_centred(struct moments *moments, const float *piece, size_t count)
{
	if (count == SAMPLE_SPAN)
		add_centred(moments, piece, SAMPLE_SPAN);
	else
		add_centred(moments, piece, count);
}

double moments_deviation(const struct moments *moments)
{
	return sqrt(moments->energy[0] / (double)moments->finite);
}

double moments_kurtosis(const struct moments *moments)
{
	const double n = (double)moments->finite;
	const double m2 = moments->energy[0] / n;

	return moments->fourths / n / (m2 * m2) - 3.0;
}

/* Least-squares slope of information[] at x = 0, 1, ... levels - 1, divided by the unit of x. */
static double least_squares(const double *information, unsigned levels, double unit)
{
	const double centre = (levels - 1) / 2.0;
	double products = 0.0, squares = 0.0;

	for (unsigned j = 0; j < levels; j++) {
		products += (j - centre) * information[j];
		squares += (j - centre) * (j - centre);
	}
	return products / (squares * unit);
}

bool moments_slope(const struct moments *moments, double *slope)
{
	double information[HAAR_LEVELS], energy, floor = 0.0;
	unsigned levels;

	for (levels = 0; levels < HAAR_LEVELS; levels++) {
		if (moments->coefficients[levels] < MIN_COEFFICIENTS)
			break;
		energy = moments->energy[levels] / (double)moments->coefficients[levels];
		if (levels == 0)
			floor = energy * ENERGY_FLOOR;
		information[levels] = 0.5 * log(energy > floor ? energy : floor);
	}
	if (levels < 2 || !(moments->energy[0] > 0.0))
		return false;
	*slope = least_squares(information, levels, log(2.0));
	*slope = *slope > 0.5 ? 0.5 : *slope < -0.5 ? -0.5 : *slope;
	return true;
}
