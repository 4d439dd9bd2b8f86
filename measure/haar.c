/* SPDX-License-Identifier: MIT */
/* haar.c - see haar.h. */
#include "haar.h"

#include <math.h>

#define PIECE	     256
#define LEVELS	     9 /* scales 1 to 256 */
#define COEFFICIENTS 64
#define ENERGY_FLOOR 1e-12 /* of the finest scale's */

struct energies {
	double sum[LEVELS];
	size_t count[LEVELS];
};

/* Add the energy of one piece at every scale. */
static void add_piece(struct energies *energies, double *a, size_t n)
{
	for (int level = 0; level < LEVELS && n; level++) {
		double sum = 0.0;

		for (size_t i = 0; i < n; i++)
			sum += a[i] * a[i];
		energies->sum[level] += sum;
		energies->count[level] += n;
		n /= 2;
		for (size_t i = 0; i < n; i++)
			a[i] = (a[2 * i] + a[2 * i + 1]) * M_SQRT1_2;
	}
}

static double least_squares(const double *x, const double *y, int n)
{
	double x_mean = 0.0, product = 0.0, square = 0.0;

	for (int i = 0; i < n; i++)
		x_mean += x[i] / n;
	for (int i = 0; i < n; i++) {
		product += (x[i] - x_mean) * y[i];
		square += (x[i] - x_mean) * (x[i] - x_mean);
	}
	return product / square;
}

static bool slope_of(const struct energies *energies, double *slope)
{
	double x[LEVELS], y[LEVELS], finest = 0.0;
	int n;

	for (n = 0; n < LEVELS && energies->count[n] >= COEFFICIENTS; n++) {
		const double energy = energies->sum[n] / (double)energies->count[n];

		if (n == 0)
			finest = energy;
		if (finest <= 0.0)
			return false;
		x[n] = n * M_LN2;
		y[n] = 0.5 * log(fmax(energy, ENERGY_FLOOR * finest));
	}
	if (n < 2)
		return false;
	*slope = fmin(0.5, fmax(-0.5, least_squares(x, y, n)));
	return true;
}

bool haar_slope(const float *values, size_t n, double mean, double *slope)
{
	struct energies energies = { { 0 }, { 0 } };

	for (size_t start = 0; start < n; start += PIECE) {
		const size_t count = n - start < PIECE ? n - start : PIECE;
		double piece[PIECE];

		for (size_t i = 0; i < count; i++) {
			const float value = values[start + i];

			piece[i] = isfinite(value) ? (double)value - mean : 0.0;
		}
		add_piece(&energies, piece, count);
	}
	return slope_of(&energies, slope);
}
