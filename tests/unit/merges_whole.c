/* SPDX-License-Identifier: MIT */
/* merges_whole.c - see merges.h: the methods that use all inputs at once, by mergekit's formulas,
 * with whole vectors. */
#include "tests/unit/merges.h"

static size_t count_of(const struct merge_rule *rule)
{
	return to_size(rule->rows * rule->columns);
}

static double *zeros(size_t n)
{
	double *values = calloc(n, sizeof(*values));

	assert_non_null(values);
	return values;
}

static double dot(const double *a, const double *b, size_t n)
{
	double sum = 0.0;

	for (size_t e = 0; e < n; e++)
		sum += a[e] * b[e];
	return sum;
}

static double norm(const double *a, size_t n)
{
	return sqrt(dot(a, a, n));
}

/* a = scale * a + factor * b */
static void combine(double *a, double scale, double factor, const double *b, size_t n)
{
	for (size_t e = 0; e < n; e++)
		a[e] = scale * a[e] + factor * b[e];
}

/* ## RAM */

static bool changes(const struct merge_rule *rule, double d)
{
	return fabsf((float)d) > (float)rule->epsilon;
}

static unsigned changes_at(const struct merge_rule *rule, double *const d[], size_t e)
{
	unsigned count = 0;

	for (unsigned i = 0; i < rule->n; i++)
		count += changes(rule, d[i][e]);
	return count;
}

static double lambda_of(const struct merge_rule *rule, double *const d[], unsigned i)
{
	double shared = 0.0, alone = 0.0;

	for (size_t e = 0; e < count_of(rule); e++)
		if (changes(rule, d[i][e]))
			*(changes_at(rule, d, e) == 1 ? &alone : &shared) += 1.0;
	alone = alone > rule->epsilon ? alone : rule->epsilon;
	return 1.0 + rule->r * fmin(shared / alone, rule->alpha);
}

static void ram(const struct merge_rule *rule, double *const d[], double *result)
{
	for (unsigned i = 0; i < rule->n; i++) {
		const double lambda =
			rule->method == MERGE_RAMPLUS_TL ? lambda_of(rule, d, i) : 1.0;

		for (size_t e = 0; e < count_of(rule); e++) {
			const unsigned count = changes_at(rule, d, e);

			if (changes(rule, d[i][e]))
				result[e] += d[i][e] * (count == 1 ? lambda : 1.0 / count);
		}
	}
}

/* ## spheres */

/* Each step is done, even if the tangents cancel. */
static void multislerp(const struct merge_rule *rule, double *const d[], double *result)
{
	const size_t n = count_of(rule);
	double weights[MERGES_INPUTS], sum = 0.0, along = 0.0, length, all = 0.0;
	double *mean = zeros(n), *tangent = zeros(n);

	for (unsigned i = 0; i < rule->n; i++)
		sum += rule->inputs[i].weight;
	for (unsigned i = 0; i < rule->n; i++) {
		weights[i] = rule->inputs[i].weight / (rule->normalize ? sum : 1.0);
		all += weights[i] * norm(d[i], n);
		combine(mean, 1.0, weights[i] / (norm(d[i], n) + rule->eps), d[i], n);
	}
	length = norm(mean, n);
	if (rule->n == 1 || length < 1e-6) {
		for (unsigned i = 0; i < rule->n; i++)
			combine(result, 1.0, rule->n == 1 ? 1.0 : weights[i], d[i], n);
	} else {
		memcpy(tangent, mean, n * sizeof(*mean));
		combine(mean, 0.0, 1.0 / length, tangent, n);
		for (unsigned i = 0; i < rule->n; i++)
			along += weights[i] * dot(d[i], mean, n) / (norm(d[i], n) + rule->eps);
		combine(tangent, 1.0, -along, mean, n);
		length = norm(tangent, n) + rule->eps;
		combine(result, 0.0, all * cos(length), mean, n);
		combine(result, 1.0, all * sin(length) / length, tangent, n);
	}
	free(mean);
	free(tangent);
}

static double share_of_valid(const struct merge_rule *rule, const double *norms)
{
	double valid = 0.0;

	for (unsigned i = 0; i < rule->n; i++)
		valid += norms[i] > rule->tol;
	return valid > 0.0 ? 1.0 / valid : 0.0;
}

/* Tangent by which u moves. Returns its length. */
static double karcher_step(const struct merge_rule *rule, double *const d[], const double *norms,
			   const double *u, double *tangent)
{
	const size_t n = count_of(rule);
	const double share = share_of_valid(rule, norms);

	combine(tangent, 0.0, 0.0, u, n);
	for (unsigned i = 0; i < rule->n; i++) {
		const double cosine = norms[i] > rule->tol ? dot(u, d[i], n) / norms[i] : 1.0;
		const double angle = acos(fmax(-1.0, fmin(1.0, cosine)));
		const double factor = share * angle / sin(angle);

		if (angle < rule->tol || sin(angle) < 1e-6)
			continue;
		combine(tangent, 1.0, factor / norms[i], d[i], n);
		combine(tangent, 1.0, -factor * cosine, u, n);
	}
	return norm(tangent, n);
}

static void karcher(const struct merge_rule *rule, double *const d[], double *u)
{
	const size_t n = count_of(rule);
	double norms[MERGES_INPUTS], scale = 0.0, length, *tangent = zeros(n);

	for (unsigned i = 0; i < rule->n; i++) {
		norms[i] = norm(d[i], n);
		scale += norms[i] / rule->n;
		if (norms[i] > rule->tol)
			combine(u, 1.0, 1.0 / norms[i], d[i], n);
	}
	length = norm(u, n);
	for (unsigned i = 0; i < rule->n && length < 1e-5 && norms[0] > 0.0; i++)
		combine(u, 0.0, 1.0 / norms[0], d[0], n);
	combine(u, 1.0 / (length < 1e-5 ? 1.0 : length), 0.0, u, n);
	for (double k = 0.0; k < rule->max_iter; k++) {
		length = karcher_step(rule, d, norms, u, tangent);
		if (length < rule->tol || length == 0.0)
			break;
		combine(u, cos(length), sin(length) / length, tangent, n);
		combine(u, 1.0 / norm(u, n), 0.0, u, n);
	}
	combine(u, rule->n == 1 ? norms[0] : scale, 0.0, u, n);
	free(tangent);
}

/* ## orders */

struct placed {
	float value;
	size_t element;
};

static int compare_placed(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	if (x->value != y->value)
		return x->value > y->value ? 1 : -1;
	return (x->element > y->element) - (x->element < y->element);
}

/* The values in ascending order; caller frees. */
static struct placed *sorted(const double *values, size_t n)
{
	struct placed *placed = calloc(n, sizeof(*placed));

	assert_non_null(placed);
	for (size_t e = 0; e < n; e++)
		placed[e] = (struct placed){ (float)values[e], e };
	qsort(placed, n, sizeof(*placed), compare_placed);
	return placed;
}

static double variance_at(const struct merge_rule *rule, double *const d[], size_t e)
{
	double mean = 0.0, sum = 0.0;

	for (unsigned i = 0; i < rule->n; i++)
		mean += d[i][e] / rule->n;
	for (unsigned i = 0; i < rule->n; i++)
		sum += (d[i][e] - mean) * (d[i][e] - mean) / rule->n;
	return sum;
}

/* Zero the elements of d with the smallest variance. */
static void select_topk(const struct merge_rule *rule, double *const d[])
{
	const size_t n = count_of(rule);
	double *variances = zeros(n);
	struct placed *placed;
	size_t nonzero = 0, kept;

	for (size_t e = 0; e < n; e++) {
		variances[e] = variance_at(rule, d, e);
		nonzero += (float)variances[e] != 0.0f;
	}
	placed = sorted(variances, n);
	kept = (size_t)((double)nonzero * rule->select_topk);
	for (size_t p = 0; p < n - kept; p++)
		for (unsigned i = 0; i < rule->n; i++)
			d[i][placed[p].element] = 0.0;
	free(variances);
	free(placed);
}

static void sce(const struct merge_rule *rule, double *const d[], double *result)
{
	const size_t n = count_of(rule);
	double weights[MERGES_INPUTS], all = 0.0;

	if (rule->select_topk < 1.0)
		select_topk(rule, d);
	for (unsigned i = 0; i < rule->n; i++)
		all += dot(d[i], d[i], n) / (double)n;
	for (unsigned i = 0; i < rule->n; i++)
		weights[i] = all < 1e-6 ? 1.0 / rule->n : dot(d[i], d[i], n) / (double)n / all;
	for (size_t e = 0; e < n; e++) {
		double sum = 0.0, agreed = 0.0;

		for (unsigned i = 0; i < rule->n; i++)
			sum += d[i][e];
		for (unsigned i = 0; i < rule->n; i++)
			if (sum >= 0.0 ? d[i][e] > 0.0 : d[i][e] < 0.0) {
				result[e] += d[i][e] * weights[i];
				agreed += weights[i];
			}
		result[e] /= fmax(agreed, 1e-6);
	}
}

/* Softmax of a row at an element, plus 1e-8. */
static double softmax(const float *row, size_t columns, size_t at)
{
	double sum = 0.0;

	for (size_t e = 0; e < columns; e++)
		sum += exp((double)row[e] - (double)row[at]);
	return 1.0 / sum + 1e-8;
}

static double divergence(const float *x, const float *b, size_t columns)
{
	double sum = 0.0;

	for (size_t e = 0; e < columns; e++) {
		const double p = softmax(x, columns, e), q = softmax(b, columns, e);

		sum += p * log(p / q);
	}
	return fmax(sum, 0.0);
}

static void arcee_fusion(const struct merge_rule *rule, const struct merge_models *models,
			 double *const d[], double *result)
{
	const size_t n = count_of(rule), columns = to_size(rule->columns), last = n - 1;
	double *importances = zeros(n), threshold;
	struct placed *placed;

	for (size_t row = 0; row < n; row += columns) {
		const double by = divergence(models->inputs[0] + row, models->base + row, columns);

		for (size_t e = row; e < row + columns; e++)
			importances[e] = fabs(d[0][e]) * by;
	}
	placed = sorted(importances, n);
	threshold = (double)placed[last / 2].value +
		    1.5 * ((double)placed[last * 3 / 4].value - (double)placed[last / 4].value);
	for (size_t e = 0; e < n; e++)
		result[e] = (double)(float)importances[e] >= threshold ? d[0][e] : 0.0;
	free(importances);
	free(placed);
}

static void nearswap(const struct merge_rule *rule, double *const d[], double *result)
{
	for (size_t e = 0; e < count_of(rule); e++)
		result[e] = d[0][e] * fmin(1.0, fmax(0.0, rule->t / fmax(fabs(d[0][e]), 1e-6)));
}

bool merge_whole(const struct merge_rule *rule, const struct merge_models *models,
		 double *const d[], double *result)
{
	switch (rule->method) {
	case MERGE_NEARSWAP:
		nearswap(rule, d, result);
		return true;
	case MERGE_RAM:
	case MERGE_RAMPLUS_TL:
		ram(rule, d, result);
		return true;
	case MERGE_MULTISLERP:
		multislerp(rule, d, result);
		return true;
	case MERGE_KARCHER:
		karcher(rule, d, result);
		return true;
	case MERGE_SCE:
		sce(rule, d, result);
		return true;
	case MERGE_ARCEE_FUSION:
		arcee_fusion(rule, models, d, result);
		return true;
	default:
		return false;
	}
}
