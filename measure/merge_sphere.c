/* SPDX-License-Identifier: MIT */
/* merge_sphere.c - see merge_internal.h: means of directions, multislerp and karcher. Every vector
 * in the formulas is a sum of the inputs with factors, so the products of the inputs (the Gram
 * matrix) suffice. */
#include "merge_internal.h"

#include <math.h>

/* Inputs scaled to length 1 (0 if they do not count), and their products. */
struct sphere {
	unsigned n;
	double inverse[MERGE_INPUTS_MAX]; /* inverse lengths of the inputs, or 0 */
	double gram[MERGE_INPUTS_MAX][MERGE_INPUTS_MAX];
};

/* Product of a unit and a sum of units. */
static double project(const struct sphere *sphere, unsigned i, const double *factors)
{
	double sum = 0.0;

	for (unsigned j = 0; j < sphere->n; j++)
		sum += factors[j] * sphere->gram[i][j];
	return sum;
}

/* Length of a sum of units. Rounding may make the square of a tiny one negative. */
static double length_of(const struct sphere *sphere, const double *factors)
{
	double sum = 0.0;

	for (unsigned i = 0; i < sphere->n; i++)
		sum += factors[i] * project(sphere, i, factors);
	return sqrt(fmax(sum, 0.0));
}

/* Set the products; inverse lengths are set. */
static void set_gram(const struct merge *m, struct sphere *sphere)
{
	sphere->n = m->rule.n;
	for (unsigned i = 0; i < sphere->n; i++)
		for (unsigned j = i; j < sphere->n; j++)
			sphere->gram[i][j] = sphere->gram[j][i] =
				m->products[i][j] * sphere->inverse[i] * sphere->inverse[j];
}

/* mergekit, multislerp.py, multislerp(). mergekit adds the weighted sum of the projections of the
 * units into the tangent space at their weighted mean. This sum is zero except for rounding, so
 * only eps remains of its length, whose cosine multiplies the mean. If the mean is close to zero,
 * its direction is a rounding error, too, and the inputs are averaged; mergekit does so for two
 * inputs, and fails for more. */
void merge_multislerp(struct merge *m)
{
	const struct merge_rule *rule = &m->rule;
	const double sum = rule->normalize ? merge_sum_of_weights(rule) : 1.0;
	double weights[MERGE_INPUTS_MAX] = { 0.0 }, length = 0.0, mean;
	struct sphere sphere;

	for (unsigned i = 0; i < rule->n; i++) {
		const double own = sqrt(m->products[i][i]);

		sphere.inverse[i] = own > 0.0 ? 1.0 / (own + rule->eps) : 0.0;
		weights[i] = rule->inputs[i].weight / sum;
		length += weights[i] * own;
	}
	set_gram(m, &sphere);
	mean = length_of(&sphere, weights);
	for (unsigned i = 0; i < rule->n; i++)
		if (rule->n == 1)
			m->parts[i].factor = 1.0;
		else if (mean < fmax(rule->eps, MERGE_LEAST_SINE))
			m->parts[i].factor = weights[i];
		else
			m->parts[i].factor =
				length * cos(rule->eps) / mean * weights[i] * sphere.inverse[i];
}

/* Weighted sum of the logarithms of the units at the mean, each with that share. */
static void sum_logarithms(const struct sphere *sphere, const double *mean, double share,
			   double tol, double *sum)
{
	double along = 0.0;

	for (unsigned i = 0; i < sphere->n; i++) {
		const double cosine = fmax(-1.0, fmin(1.0, project(sphere, i, mean)));
		const double angle = acos(cosine), sine = sin(angle);

		sum[i] = 0.0;
		if (sphere->inverse[i] == 0.0 || angle < tol || sine < MERGE_LEAST_SINE)
			continue;
		sum[i] = share * angle / sine;
		along += sum[i] * cosine;
	}
	for (unsigned i = 0; i < sphere->n; i++)
		sum[i] -= along * mean[i];
}

/* Move the mean, of length 1, along a tangent of that length. */
static void move(const struct sphere *sphere, double *mean, const double *tangent, double length,
		 double tol)
{
	double moved;

	for (unsigned i = 0; i < sphere->n; i++)
		mean[i] = cos(length) * mean[i] + sin(length) / length * tangent[i];
	moved = length_of(sphere, mean);
	for (unsigned i = 0; i < sphere->n && moved > tol; i++)
		mean[i] /= moved;
}

/* Initial mean: that of the units, or if it is close to zero, the first unit. */
static void begin_mean(const struct sphere *sphere, double share, double tol, double *mean)
{
	double length;
	unsigned first = 0;

	for (unsigned i = 0; i < sphere->n; i++)
		mean[i] = sphere->inverse[i] > 0.0 ? share : 0.0;
	length = length_of(sphere, mean);
	while (first < sphere->n - 1 && mean[first] == 0.0)
		first++;
	for (unsigned i = 0; i < sphere->n; i++)
		if (length < fmax(tol, MERGE_LEAST_SINE))
			mean[i] = i == first;
		else
			mean[i] /= length;
}

/* mergekit, karcher.py, karcher_merge_tensors(). A unit opposite to the mean has no direction from
 * there and does not move the mean. */
void merge_karcher(struct merge *m)
{
	const struct merge_rule *rule = &m->rule;
	double mean[MERGE_INPUTS_MAX] = { 0.0 }, tangent[MERGE_INPUTS_MAX];
	double scale = 0.0, valid = 0.0;
	struct sphere sphere;

	for (unsigned i = 0; i < rule->n; i++) {
		const double length = sqrt(m->products[i][i]);

		sphere.inverse[i] = length > rule->tol ? 1.0 / length : 0.0;
		valid += length > rule->tol;
		scale += length / rule->n;
	}
	set_gram(m, &sphere);
	begin_mean(&sphere, 1.0 / fmax(valid, 1.0), rule->tol, mean);
	for (double step = 1.0; step <= rule->max_iter; step += 1.0) {
		double length;

		sum_logarithms(&sphere, mean, 1.0 / fmax(valid, 1.0), rule->tol, tangent);
		length = length_of(&sphere, tangent);
		if (length < rule->tol || length == 0.0)
			break;
		move(&sphere, mean, tangent, length, rule->tol);
	}
	for (unsigned i = 0; i < rule->n; i++)
		m->parts[i].factor = rule->n == 1 ? 1.0 : scale * mean[i] * sphere.inverse[i];
}
