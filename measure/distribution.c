/* SPDX-License-Identifier: MIT */
/* distribution.c - see distribution.h. */
#include "distribution.h"

#include <math.h>
#include <string.h>

#define TRIM 0.001
#define GAP  (1.0 / 8.0)

uint64_t distribution_lowest_rank(uint64_t n)
{
	return (uint64_t)floor(TRIM * (double)(n - 1));
}

static double quantile_share(unsigned i)
{
	return TRIM + (1.0 - 2.0 * TRIM) * i / DISTRIBUTION_SPACINGS;
}

uint64_t distribution_quantile_rank(uint64_t n, unsigned i)
{
	const uint64_t rank = (uint64_t)floor(quantile_share(i) * (double)n);

	return rank < n ? rank : n - 1;
}

double distribution_edge(const struct distribution *d, unsigned i)
{
	return d->lo + (d->hi - d->lo) * (i + 1) / DISTRIBUTION_BINS;
}

static void look_ahead(struct distribution *d)
{
	d->next_edge = INFINITY;
	d->next_rank = UINT64_MAX;
	if (d->edges < DISTRIBUTION_BINS - 1)
		d->next_edge = distribution_edge(d, d->edges);
	if (d->found <= DISTRIBUTION_SPACINGS)
		d->next_rank = distribution_quantile_rank(d->n, d->found);
}

void distribution_begin(struct distribution *d, uint64_t n, double lo, double hi)
{
	memset(d, 0, sizeof(*d));
	d->n = n;
	d->lo = lo;
	d->hi = hi;
	look_ahead(d);
}

/* F at a distinct value. */
static double cdf_at(const struct distribution *d, const struct atom *atom)
{
	return ((double)(atom->below + atom->ties) - 0.5 * (double)atom->ties) / (double)d->n;
}

/* F between two neighbours: one straight line, or a line up to the flat part and one after it. */
struct cdf_piece {
	double x0, f0, x1, f1;
};

static bool is_wide(const struct distribution *d, const struct atom *a, const struct atom *b)
{
	return b->value - a->value > GAP * (d->hi - d->lo);
}

static struct cdf_piece before_flat(const struct distribution *d, const struct atom *a,
				    const struct atom *b)
{
	if (!is_wide(d, a, b))
		return (struct cdf_piece){ a->value, cdf_at(d, a), b->value, cdf_at(d, b) };
	return (struct cdf_piece){ a->value, cdf_at(d, a), a->value + 0.5 * (GAP * (d->hi - d->lo)),
				   (double)(a->below + a->ties) / (double)d->n };
}

static struct cdf_piece after_flat(const struct distribution *d, const struct atom *a,
				   const struct atom *b)
{
	if (!is_wide(d, a, b))
		return before_flat(d, a, b);
	return (struct cdf_piece){ b->value - 0.5 * (GAP * (d->hi - d->lo)),
				   (double)(a->below + a->ties) / (double)d->n, b->value,
				   cdf_at(d, b) };
}

static double cdf_between(const struct distribution *d, const struct atom *a, const struct atom *b,
			  double x)
{
	struct cdf_piece p = before_flat(d, a, b);

	if (x >= p.x1)
		p = after_flat(d, a, b);
	if (x < p.x0)
		return p.f0;
	return (p.f1 - p.f0) / (p.x1 - p.x0) * (x - p.x0) + p.f0;
}

/* The smallest x with F(x) >= share, for F(a) < share <= F(b). */
static double quantile_between(const struct distribution *d, const struct atom *a,
			       const struct atom *b, double share)
{
	struct cdf_piece p = before_flat(d, a, b);

	if (share > p.f1)
		p = after_flat(d, a, b);
	return p.x0 + (p.x1 - p.x0) * (share - p.f0) / (p.f1 - p.f0);
}

void distribution_add(struct distribution *d, double value, uint64_t below, uint64_t ties)
{
	const struct atom atom = { value, below, ties }, *last = &d->last;
	const bool first = last->ties == 0;
	const double cdf = cdf_at(d, &atom);

	for (; value > d->next_edge; look_ahead(d)) {
		d->cdf[d->edges] = first ? cdf : cdf_between(d, last, &atom, d->next_edge);
		d->edges++;
	}
	for (; d->found <= DISTRIBUTION_SPACINGS && cdf >= quantile_share(d->found);
	     look_ahead(d)) {
		const double share = quantile_share(d->found);

		d->quantiles[d->found] = first ? value : quantile_between(d, last, &atom, share);
		d->found++;
	}
	d->last = atom;
}

void distribution_end(struct distribution *d)
{
	while (d->edges < DISTRIBUTION_BINS - 1)
		d->cdf[d->edges++] = cdf_at(d, &d->last);
	while (d->found <= DISTRIBUTION_SPACINGS)
		d->quantiles[d->found++] = d->last.value;
}

double distribution_entropy(const struct distribution *d)
{
	double entropy = 0.0, from = 0.0;

	for (unsigned i = 0; i < DISTRIBUTION_BINS; i++) {
		const double to = i < DISTRIBUTION_BINS - 1 ? d->cdf[i] : 1.0;
		const double mass = to - from;

		if (mass > 0.0)
			entropy -= mass * log(mass);
		from = to;
	}
	return entropy / log(DISTRIBUTION_BINS);
}

/* Chance makes spacings of n / 64 points vary: for uniform noise the squared coefficient of
 * variation is 64 / n. Independent factors multiply as 1 + cv^2. */
double distribution_spacing(const struct distribution *d)
{
	double spacing[DISTRIBUTION_SPACINGS], mean = 0.0, variance = 0.0, square;

	for (unsigned i = 0; i < DISTRIBUTION_SPACINGS; i++) {
		spacing[i] = d->quantiles[i + 1] - d->quantiles[i];
		mean += spacing[i] / DISTRIBUTION_SPACINGS;
	}
	for (unsigned i = 0; i < DISTRIBUTION_SPACINGS; i++)
		variance += (spacing[i] - mean) * (spacing[i] - mean) / DISTRIBUTION_SPACINGS;
	square = variance / (mean * mean);
	square = (1.0 + square) / (1.0 + DISTRIBUTION_SPACINGS / (double)d->n) - 1.0;
	return square > 0.0 ? sqrt(square) : 0.0;
}
