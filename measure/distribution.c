/* SPDX-License-Identifier: MIT */
/* distribution.c - see distribution.h. The function is linear between knots, which come in order,
 * so that quantiles and bins are read off as they pass by and no knot is kept. */
#include "distribution.h"

#include <math.h>

#define TRIM	 0.001
#define BINS	 64
#define SPACINGS 64
#define GAP	 (1.0 / 8.0) /* of the range */

/* A pass along the distribution function. */
struct pass {
	double low, high; /* the range */
	bool begun;
	double value, mass; /* of the last knot */
	/* What is read off. */
	int quantile, edge;		/* the next one */
	double quantiles[SPACINGS + 1]; /* values */
	double edges[BINS - 1];		/* masses below */
};

static double quantile_mass(int k)
{
	return TRIM + (1.0 - 2.0 * TRIM) * k / SPACINGS;
}

static double edge_value(const struct pass *pass, int k)
{
	return pass->low + (pass->high - pass->low) * (k + 1) / BINS;
}

/* The smallest value at which the function reaches each mass; before the first knot it is that. */
static void read_quantiles(struct pass *pass, double value, double mass)
{
	for (; pass->quantile <= SPACINGS && quantile_mass(pass->quantile) <= mass;
	     pass->quantile++) {
		const double wanted = quantile_mass(pass->quantile) - pass->mass;

		pass->quantiles[pass->quantile] =
			!pass->begun ? value
				     : pass->value +
					       (value - pass->value) * wanted / (mass - pass->mass);
	}
}

static void read_edges(struct pass *pass, double value, double mass)
{
	for (; pass->edge < BINS - 1 && edge_value(pass, pass->edge) < value; pass->edge++) {
		const double beyond = edge_value(pass, pass->edge) - pass->value;

		pass->edges[pass->edge] =
			!pass->begun
				? mass
				: pass->mass + (mass - pass->mass) / (value - pass->value) * beyond;
	}
}

static void knot(struct pass *pass, double value, double mass)
{
	read_quantiles(pass, value, mass);
	read_edges(pass, value, mass);
	pass->begun = true;
	pass->value = value;
	pass->mass = mass;
}

/* All knots, with two more in every gap that is too wide, between which the function is level. */
static void walk(struct pass *pass, const float *sorted, size_t n)
{
	const double gap = GAP * (pass->high - pass->low);
	size_t end;

	for (size_t i = 0; i < n; i = end) {
		const double value = (double)sorted[i], below = (double)i / (double)n;

		for (end = i + 1; end < n && sorted[end] == sorted[i]; end++)
			;
		if (pass->begun && value - (double)sorted[i - 1] > gap) {
			knot(pass, (double)sorted[i - 1] + 0.5 * gap, below);
			knot(pass, value - 0.5 * gap, below);
		}
		knot(pass, value, ((double)end - 0.5 * (double)(end - i)) / (double)n);
	}
	/* Beyond the last knot the function is constant. */
	while (pass->quantile <= SPACINGS)
		pass->quantiles[pass->quantile++] = pass->value;
	while (pass->edge < BINS - 1)
		pass->edges[pass->edge++] = pass->mass;
}

static double entropy_of(const struct pass *pass)
{
	double entropy = 0.0;

	for (int bin = 0; bin < BINS; bin++) {
		const double upper = bin < BINS - 1 ? pass->edges[bin] : 1.0;
		const double mass = upper - (bin ? pass->edges[bin - 1] : 0.0);

		if (mass > 0.0)
			entropy -= mass * log(mass);
	}
	return entropy / log(BINS);
}

/* Spacings of quantiles of a sample vary by themselves, by 64/n; that part is taken out. */
static double spacing_of(const struct pass *pass, size_t n)
{
	const double mean = (pass->quantiles[SPACINGS] - pass->quantiles[0]) / SPACINGS;
	double square = 0.0;

	for (int k = 0; k < SPACINGS; k++) {
		const double d = pass->quantiles[k + 1] - pass->quantiles[k] - mean;

		square += d * d;
	}
	square = square / SPACINGS / (mean * mean);
	square = (1.0 + square) / (1.0 + SPACINGS / (double)n) - 1.0;
	return square > 0.0 ? sqrt(square) : 0.0;
}

bool distribution_of(const float *sorted, size_t n, struct distribution *distribution)
{
	const size_t trim = (size_t)floor(TRIM * (double)(n - 1));
	struct pass pass = { .low = (double)sorted[trim], .high = (double)sorted[n - 1 - trim] };

	if (pass.high <= pass.low)
		return false;
	walk(&pass, sorted, n);
	distribution->entropy = entropy_of(&pass);
	distribution->spacing = spacing_of(&pass, n);
	return true;
}
