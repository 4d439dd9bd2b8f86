/* SPDX-License-Identifier: MIT */
/* merge_average.c - see merge_internal.h: methods that multiply each input by a factor. For linear,
 * passthrough and task_arithmetic the factors are known from the start; arcs (slerp, nuslerp),
 * model_stock and the methods of merge_sphere.c derive them from norms and products of the
 * vectors. */
#include "merge_internal.h"

#include "lanes.h"

#include <math.h>

/* smaller sums of weights are not used as divisors */
#define LEAST_SUM 1e-8

/* Terms that are not finite count as 0. */
static half_lanes product(const double *a, const double *b)
{
	const half_lanes x = half_lanes_load(a) * half_lanes_load(b), zeros = { 0.0, 0.0 };

	return (half_lanes)((half_masks)x & (x - x == zeros));
}

/* The strip's part of the product of two vectors. */
static double dot(const double a[MERGE_STRIP], const double b[MERGE_STRIP])
{
	half_lanes p = { 0 }, q = { 0 }, r = { 0 }, s = { 0 };

	for (unsigned k = 0; k < MERGE_STRIP; k += 8) {
		p += product(a + k, b + k);
		q += product(a + k + 2, b + k + 2);
		r += product(a + k + 4, b + k + 4);
		s += product(a + k + 6, b + k + 6);
	}
	p = (p + q) + (r + s);
	return p[0] + p[1];
}

/* Beginning. */

double merge_sum_of_weights(const struct merge_rule *rule)
{
	double sum = 0.0;

	for (unsigned i = 0; i < rule->n; i++)
		sum += rule->inputs[i].weight;
	return fabs(sum) < LEAST_SUM ? 1.0 : sum;
}

/* Sums per column: squares of the first input, of the second, and products. The factors later
 * replace the squares. */
static double *column_sums(const struct merge *m, unsigned which)
{
	return (double *)m->scratch + which * (size_t)m->rule.columns;
}

void merge_average_begin(struct merge *m)
{
	const struct merge_rule *rule = &m->rule;
	const double lambda = rule->method == MERGE_TASK_ARITHMETIC ? rule->lambda : 1.0;
	const double sum = rule->normalize && rule->method != MERGE_PASSTHROUGH
				   ? merge_sum_of_weights(rule)
				   : 1.0;

	switch (rule->method) {
	case MERGE_SLERP:
	case MERGE_NUSLERP:
	case MERGE_MODEL_STOCK:
	case MERGE_MULTISLERP:
	case MERGE_KARCHER:
		m->pass = merge_rows_apart(rule) ? MERGE_PASS_NONE : MERGE_PASS_ARCS;
		memset(m->products, 0, sizeof(m->products));
		if (merge_columns_apart(rule))
			memset(m->scratch, 0, merge_scratch(rule));
		break;
	default:
		for (unsigned i = 0; i < rule->n; i++)
			m->parts[i].factor = rule->inputs[i].weight / sum * lambda;
	}
}

/* The pass. */

static void add_columns(struct merge *m, const struct merge_strip *strip,
			double differences[][MERGE_STRIP])
{
	const double *a = differences[0], *b = differences[1];
	double *aa = column_sums(m, 0) + strip->column, *bb = column_sums(m, 1) + strip->column;
	double *ab = column_sums(m, 2) + strip->column;

	for (size_t k = 0; k < strip->n; k++) {
		aa[k] += isfinite(a[k]) ? a[k] * a[k] : 0.0;
		bb[k] += isfinite(b[k]) ? b[k] * b[k] : 0.0;
		ab[k] += isfinite(a[k]) && isfinite(b[k]) ? a[k] * b[k] : 0.0;
	}
}

void merge_arcs_add(struct merge *m, const struct merge_strip *strip)
{
	double differences[MERGE_INPUTS_MAX][MERGE_STRIP];

	for (unsigned i = 0; i < m->rule.n; i++)
		merge_differences(strip, i, differences[i]);
	if (merge_columns_apart(&m->rule)) {
		add_columns(m, strip, differences);
		return;
	}
	for (unsigned i = 0; i < m->rule.n; i++)
		for (unsigned j = i; j < m->rule.n; j++)
			m->products[i][j] += dot(differences[i], differences[j]);
}

/* Factors of two vectors at position t of an arc with that angle. */
static void set_arc(double angle, double t, double *first, double *second)
{
	*first = sin((1.0 - t) * angle) / sin(angle);
	*second = sin(t * angle) / sin(angle);
}

/* Nearly parallel vectors are averaged. */
static void slerp(struct merge *m)
{
	const double a = sqrt(m->products[0][0]), b = sqrt(m->products[1][1]), t = m->rule.t;
	const double cosine = m->products[0][1] / (a > 1e-8 ? a : 1.0) / (b > 1e-8 ? b : 1.0);

	if (fabs(cosine) > 0.9995) {
		m->parts[0].factor = 1.0 - t;
		m->parts[1].factor = t;
	} else {
		set_arc(acos(cosine), t, &m->parts[0].factor, &m->parts[1].factor);
	}
}

static double within_1(double cosine)
{
	return fmax(-1.0, fmin(1.0, cosine));
}

static void nuslerp(const struct merge_rule *rule, double aa, double bb, double ab, double *first,
		    double *second)
{
	const double sum = rule->inputs[0].weight + rule->inputs[1].weight;
	const double t = fabs(sum) < 1e-6 ? 0.5 : rule->inputs[1].weight / sum;
	const double angle = acos(within_1(ab / fmax(sqrt(aa), 1e-7) / fmax(sqrt(bb), 1e-7)));

	if (fabs(sin(angle)) < MERGE_LEAST_SINE) {
		*first = 1.0 - t;
		*second = t;
	} else {
		set_arc(angle, t, first, second);
	}
}

/* Mean cosine of the pairs; 1 for a single model, which then is the result. */
static double mean_cosine(const struct merge *m)
{
	const unsigned n = m->rule.n;
	double sum = 0.0;

	for (unsigned i = 0; i < n; i++)
		for (unsigned j = i + 1; j < n; j++) {
			const double norms = sqrt(m->products[i][i]) * sqrt(m->products[j][j]);

			sum += within_1(m->products[i][j] / fmax(norms, 1e-6));
		}
	return n < 2 ? 1.0 : sum / (n * (n - 1) / 2);
}

/* If the differences cancel exactly, the base remains. */
static void model_stock(struct merge *m)
{
	const double n = m->rule.n, cosine = mean_cosine(m);
	const double t = n * cosine / (1.0 + (n - 1.0) * cosine);

	for (unsigned i = 0; i < m->rule.n; i++)
		m->parts[i].factor = isfinite(t) ? t / n : 0.0;
}

static void end_columns(struct merge *m)
{
	double *aa = column_sums(m, 0), *bb = column_sums(m, 1), *ab = column_sums(m, 2);

	for (size_t c = 0; c < m->rule.columns; c++)
		nuslerp(&m->rule, aa[c], bb[c], ab[c], &aa[c], &bb[c]);
}

void merge_arcs_end(struct merge *m)
{
	if (m->rule.method == MERGE_SLERP)
		slerp(m);
	else if (m->rule.method == MERGE_MODEL_STOCK)
		model_stock(m);
	else if (m->rule.method == MERGE_MULTISLERP)
		merge_multislerp(m);
	else if (m->rule.method == MERGE_KARCHER)
		merge_karcher(m);
	else if (merge_columns_apart(&m->rule))
		end_columns(m);
	else
		nuslerp(&m->rule, m->products[0][0], m->products[1][1], m->products[0][1],
			&m->parts[0].factor, &m->parts[1].factor);
	m->pass = MERGE_PASS_NONE;
}

/* Rows. */

static void add_with_factor(double sum[restrict MERGE_STRIP], double factor,
			    const double values[restrict MERGE_STRIP])
{
	for (unsigned k = 0; k < MERGE_STRIP; k++)
		sum[k] += factor * values[k];
}

static void add_with_factors(double sum[MERGE_STRIP], const double *factors,
			     const double values[MERGE_STRIP], size_t n)
{
	for (size_t k = 0; k < n; k++)
		sum[k] += factors[k] * values[k];
}

void merge_average(const struct merge *m, const struct merge_strip *strip,
		   double result[MERGE_STRIP])
{
	double differences[MERGE_STRIP];

	/* The sum of -0 and -0 is -0, the sum of 0 and -0 is 0. */
	for (unsigned k = 0; k < MERGE_STRIP; k++)
		result[k] = -0.0;
	for (unsigned i = 0; i < m->rule.n; i++) {
		merge_differences(strip, i, differences);
		if (merge_columns_apart(&m->rule))
			add_with_factors(result, column_sums(m, i) + strip->column, differences,
					 strip->n);
		else
			add_with_factor(result, m->parts[i].factor, differences);
	}
}
