/* SPDX-License-Identifier: MIT */
/* merges.c - see merges.h. */
#include "tests/unit/merges.h"
#include "tests/unit/zinputs.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

static bool is_of(enum merge_method method, const char *family)
{
	return begins(merge_method_names[method], family);
}

struct merge_rule merge_rule_of(enum merge_method method, unsigned n, uint64_t rows,
				uint64_t columns, const char *name)
{
	struct merge_rule rule = { .method = method,
				   .n = n,
				   .normalize = method == MERGE_LINEAR || method == MERGE_TIES ||
						method == MERGE_DELLA || method == MERGE_MULTISLERP,
				   .rescale = is_of(method, "dare") || is_of(method, "della"),
				   .lambda = 0.9,
				   .t = method == MERGE_NEARSWAP ? 0.003 : 0.4,
				   .epsilon = 0.003,
				   .r = 0.6,
				   .alpha = 0.7,
				   .eps = 1e-8,
				   .tol = 1e-5,
				   .max_iter = 10.0,
				   .select_topk = 0.6,
				   .rows = rows,
				   .columns = columns };

	for (unsigned i = 0; i < n; i++)
		rule.inputs[i] = (struct merge_input){ .weight = i % 2 ? 0.3 : 0.6,
						       .density = 0.5,
						       .gamma = 0.01,
						       .epsilon = 0.15,
						       .seed = XXH64(name, strlen(name), 42 + i) };
	return rule;
}

struct merge_models merge_models_new(const struct merge_rule *rule, uint32_t seed)
{
	const size_t n = to_size(rule->rows * rule->columns);
	struct merge_models models = { .base = new_values(n) };

	for (size_t e = 0; e < n; e++)
		models.base[e] = (float)(round(bell(&seed) * 512.0) / 4096.0);
	for (unsigned i = 0; i < rule->n; i++) {
		models.inputs[i] = new_values(n);
		for (size_t e = 0; e < n; e++)
			models.inputs[i][e] =
				models.base[e] + (float)(round(bell(&seed) * 16.0) / 4096.0);
	}
	return models;
}

void merge_models_free(struct merge_models *models)
{
	free(models->base);
	for (unsigned i = 0; i < MERGES_INPUTS; i++)
		free(models->inputs[i]);
}

static void rows_of(const struct merge_rule *rule, const struct merge_models *models, uint64_t row,
		    const float **base, const float **inputs)
{
	const size_t at = to_size(row * rule->columns);

	*base = merge_uses_base(rule) ? models->base + at : NULL;
	for (unsigned i = 0; i < rule->n; i++)
		inputs[i] = models->inputs[i] + at;
}

unsigned merge_all(const struct merge_rule *rule, const struct merge_models *models,
		   uint64_t at_a_time, float *result)
{
	struct merge *m = malloc(sizeof(*m));
	void *scratch = malloc(merge_scratch(rule)), *row_scratch = malloc(merge_row_scratch(rule));
	const float *base, *inputs[MERGE_INPUTS_MAX];
	unsigned passes = 0;

	assert_true(m && scratch && row_scratch);
	memset(m, 0xa5, sizeof(*m));
	memset(scratch, 0xa5, merge_scratch(rule));
	for (merge_begin(m, rule, scratch); merge_needs_pass(m); merge_end_pass(m), passes++)
		for (uint64_t row = 0; row < rule->rows; row += at_a_time) {
			rows_of(rule, models, row, &base, inputs);
			merge_feed(m, at_a_time < rule->rows - row ? at_a_time : rule->rows - row,
				   base, inputs);
		}
	/* The rows come from the last to the first. */
	for (uint64_t row = rule->rows; row-- > 0;) {
		rows_of(rule, models, row, &base, inputs);
		merge_row(m, row, base, inputs, row_scratch, result + to_size(row * rule->columns));
	}
	free(m);
	free(scratch);
	free(row_scratch);
	return passes;
}

/* ## the definitions */

struct placed {
	float size;
	size_t element;
};

static int compare_placed(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	if (x->size != y->size)
		return x->size > y->size ? 1 : -1;
	return (x->element > y->element) - (x->element < y->element);
}

/* Rank of each of n values by magnitude. */
static void rank(const double *d, size_t n, size_t *ranks)
{
	struct placed *placed = calloc(n, sizeof(*placed));

	assert_non_null(placed);
	for (size_t e = 0; e < n; e++)
		placed[e] = (struct placed){ fabsf((float)d[e]), e };
	qsort(placed, n, sizeof(*placed), compare_placed);
	for (size_t i = 0; i < n; i++)
		ranks[placed[i].element] = i;
	free(placed);
}

static double uniform(uint64_t element, uint64_t seed)
{
	uint8_t bytes[8];

	for (unsigned i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(element >> 8 * i);
	return (double)(XXH64(bytes, sizeof(bytes), seed) >> 40) / 0x1p24;
}

static bool is_kept(const struct merge_rule *rule, const struct merge_input *input, size_t element,
		    size_t place, size_t n)
{
	const size_t kept = (size_t)(input->density * (double)n);
	size_t top = (size_t)(input->gamma * (double)n);

	if (rule->method == MERGE_TIES)
		return place >= n - kept;
	if (is_of(rule->method, "dare"))
		return uniform(element, input->seed) < input->density;
	if (is_of(rule->method, "della"))
		return uniform(element, input->seed) <
		       input->density - input->epsilon +
			       2.0 * input->epsilon *
				       (n > 1 ? (double)place / (double)(n - 1) : 0.0);
	top = top < n - kept ? top : n - kept;
	return place >= n - kept - top && place < n - top;
}

/* Zero the dropped elements of d. */
static void choose(const struct merge_rule *rule, unsigned i, double *d)
{
	const size_t n = to_size(rule->rows * rule->columns);
	const size_t group = is_of(rule->method, "della") ? to_size(rule->columns) : n;
	size_t *ranks = calloc(n, sizeof(*ranks));
	double all = 0.0, kept = 0.0;

	if (rule->inputs[i].density >= 1.0 || rule->method == MERGE_TASK_ARITHMETIC) {
		free(ranks);
		return;
	}
	assert_non_null(ranks);
	for (size_t e = 0; e < n; e += group)
		rank(d + e, group, ranks + e);
	for (size_t e = 0; e < n; e++) {
		all += fabs(d[e]);
		d[e] *= is_kept(rule, &rule->inputs[i], e, ranks[e], group);
		kept += fabs(d[e]);
	}
	for (size_t e = 0; e < n && rule->rescale && all >= 1e-7 && kept >= 1e-7; e++)
		d[e] *= all / kept;
	free(ranks);
}

static double one_task(const struct merge_rule *rule, double *d[], size_t e)
{
	const bool elects = rule->method == MERGE_TIES || rule->method == MERGE_DARE_TIES ||
			    rule->method == MERGE_DELLA || rule->method == MERGE_BREADCRUMBS_TIES;
	double all = 0.0, sum = 0.0, weights = 0.0;

	for (unsigned i = 0; i < rule->n; i++)
		all += rule->inputs[i].weight * d[i][e];
	for (unsigned i = 0; i < rule->n; i++) {
		const double v = rule->inputs[i].weight * d[i][e];

		if (elects && !(all >= 0.0 ? v > 0.0 : v < 0.0))
			continue;
		sum += v;
		weights += rule->inputs[i].weight;
	}
	return rule->lambda * (rule->normalize && fabs(weights) > 1e-8 ? sum / weights : sum);
}

static double dot(const double *a, const double *b, size_t n, size_t step)
{
	double sum = 0.0;

	for (size_t i = 0; i < n; i++)
		sum += a[i * step] * b[i * step];
	return sum;
}

/* Move a towards b along the arc: n values, step apart. */
static void bend(const struct merge_rule *rule, double *a, const double *b, size_t n, size_t step)
{
	const double sum = rule->inputs[0].weight + rule->inputs[1].weight;
	const bool nu = rule->method == MERGE_NUSLERP;
	const double t = !nu ? rule->t : fabs(sum) < 1e-6 ? 0.5 : rule->inputs[1].weight / sum;
	const double na = sqrt(dot(a, a, n, step)), nb = sqrt(dot(b, b, n, step));
	double c = dot(a, b, n, step) / (na > 1e-8 ? na : 1.0) / (nb > 1e-8 ? nb : 1.0);
	bool straight;

	c = c > 1.0 ? 1.0 : c < -1.0 ? -1.0 : c;
	straight = nu ? fabs(sin(acos(c))) < 1e-6 : fabs(c) > 0.9995;
	for (size_t i = 0; i < n; i++) {
		const double x = a[i * step], y = b[i * step], angle = acos(c);

		a[i * step] =
			straight ? (1.0 - t) * x + t * y
				 : (sin(angle - t * angle) * x + sin(t * angle) * y) / sin(angle);
	}
}

static void bend_all(const struct merge_rule *rule, double *a, const double *b)
{
	const size_t rows = to_size(rule->rows), columns = to_size(rule->columns);

	if (rule->method == MERGE_SLERP || rule->extent == MERGE_WHOLE)
		bend(rule, a, b, rows * columns, 1);
	else if (rule->extent == MERGE_ROWS)
		for (size_t r = 0; r < rows; r++)
			bend(rule, a + r * columns, b + r * columns, columns, 1);
	else
		for (size_t c = 0; c < columns; c++)
			bend(rule, a + c, b + c, rows, columns);
}

/* Share of the models' mean; the base has the rest. */
static double stock_share(const struct merge_rule *rule, double *d[], size_t n)
{
	const double count = rule->n;
	double sum = 0.0, pairs = 0.0;

	for (unsigned i = 0; i < rule->n; i++)
		for (unsigned j = i + 1; j < rule->n; j++, pairs++)
			sum += dot(d[i], d[j], n, 1) /
			       fmax(sqrt(dot(d[i], d[i], n, 1) * dot(d[j], d[j], n, 1)), 1e-6);
	sum = rule->n == 1 ? 1.0 : sum / pairs;
	return count * sum / (1.0 + (count - 1.0) * sum);
}

/* Share at each element, for its row or for the whole tensor. */
static void find_shares(const struct merge_rule *rule, double *d[], double *shares)
{
	const size_t n = to_size(rule->rows * rule->columns);
	const size_t group = rule->extent == MERGE_ROWS ? to_size(rule->columns) : n;

	for (size_t first = 0; first < n; first += group) {
		double *part[MERGES_INPUTS];

		for (unsigned i = 0; i < rule->n; i++)
			part[i] = d[i] + first;
		shares[first] = stock_share(rule, part, group);
		for (size_t e = first; e < first + group; e++)
			shares[e] = shares[first];
	}
}

static double one_average(const struct merge_rule *rule, double *d[], size_t e)
{
	double sum = 0.0, weights = 0.0;

	for (unsigned i = 0; i < rule->n; i++) {
		const double w = rule->method == MERGE_MODEL_STOCK ? 1.0 : rule->inputs[i].weight;

		sum += w * d[i][e];
		weights += w;
	}
	return rule->normalize || rule->method == MERGE_MODEL_STOCK ? sum / weights : sum;
}

static double one_element(const struct merge_rule *rule, double *d[], size_t e, double share)
{
	if (rule->method == MERGE_SLERP || rule->method == MERGE_NUSLERP)
		return d[0][e];
	if (rule->method == MERGE_LINEAR || rule->method == MERGE_PASSTHROUGH)
		return one_average(rule, d, e);
	if (rule->method == MERGE_MODEL_STOCK)
		return share * one_average(rule, d, e);
	return one_task(rule, d, e);
}

double *merge_by_definition(const struct merge_rule *rule, const struct merge_models *models)
{
	const size_t n = to_size(rule->rows * rule->columns);
	const bool based = merge_uses_base(rule);
	double *d[MERGES_INPUTS], *result = calloc(n, sizeof(*result));
	double *shares = calloc(n, sizeof(*shares));

	assert_true(result && shares);
	for (unsigned i = 0; i < rule->n; i++) {
		d[i] = calloc(n, sizeof(*d[i]));
		assert_non_null(d[i]);
		for (size_t e = 0; e < n; e++)
			d[i][e] = (double)models->inputs[i][e] -
				  (based ? (double)models->base[e] : 0.0);
		if (rule->method >= MERGE_TASK_ARITHMETIC && rule->method <= MERGE_BREADCRUMBS_TIES)
			choose(rule, i, d[i]);
	}
	find_shares(rule, d, shares);
	const bool whole = merge_whole(rule, models, d, result);

	if (rule->method == MERGE_SLERP || rule->method == MERGE_NUSLERP)
		bend_all(rule, d[0], d[1]);
	for (size_t e = 0; e < n; e++)
		result[e] = (based ? (double)models->base[e] : 0.0) +
			    (whole ? result[e] : one_element(rule, d, e, shares[e]));
	for (unsigned i = 0; i < rule->n; i++)
		free(d[i]);
	free(shares);
	return result;
}

void check_merge(const struct merge_rule *rule, const struct merge_models *models)
{
	const size_t n = to_size(rule->rows * rule->columns);
	double *expected = merge_by_definition(rule, models);
	float *result = calloc(n, sizeof(*result));

	assert_non_null(result);
	merge_all(rule, models, 3, result);
	for (size_t e = 0; e < n; e++)
		if (!(fabs((double)result[e] - expected[e]) <=
		      2e-6 * fmax(1e-3, fabs(expected[e]))))
			fail_msg("%s, %u inputs, %zu of %zu: %.9g, not %.9g",
				 merge_method_names[rule->method], rule->n, e, n, (double)result[e],
				 expected[e]);
	free(expected);
	free(result);
}

/* ## the table */

#define GOLDEN_VALUES 256

static const char *const golden_names[] = { "blk.5.attn_norm.weight", "output_norm.weight",
					    "made.weight" };
static const uint64_t golden_rows[] = { 1, 1, 8 };

/* Set a line's rule; nuslerp with a base is nuslerp_base there. Returns the tensor's number. */
static unsigned golden_rule(const char *method, const char *tensor, struct merge_rule *rule)
{
	const char *base = strstr(method, "_base");
	const size_t length = base ? (size_t)(base - method) : strlen(method);
	enum merge_method found = 0;
	unsigned t = 0;

	while (strlen(merge_method_names[found]) != length ||
	       strncmp(merge_method_names[found], method, length) != 0)
		assert_true(++found < MERGE_METHODS);
	while (strcmp(golden_names[t], tensor) != 0)
		assert_true(++t < ARRAY_LENGTH(golden_names));
	*rule = merge_rule_of(found, 2, golden_rows[t], GOLDEN_VALUES / golden_rows[t], tensor);
	rule->has_base = base != NULL;
	return t;
}

/* Read little-endian floats. */
static float *read_floats(FILE *file)
{
	float *values = new_values(GOLDEN_VALUES);
	uint8_t bytes[4];

	for (size_t e = 0; e < GOLDEN_VALUES; e++) {
		uint32_t bits = 0;

		assert_int_equal(fread(bytes, 1, sizeof(bytes), file), sizeof(bytes));
		for (unsigned i = 0; i < sizeof(bytes); i++)
			bits |= (uint32_t)bytes[i] << 8 * i;
		memcpy(&values[e], &bits, sizeof(bits));
	}
	return values;
}

static struct merge_models golden_models(unsigned tensor)
{
	struct merge_models models = { 0 };
	FILE *file = fopen("tests/unit/golden_merge.f32", "rb");

	assert_non_null(file);
	assert_int_equal(fseek(file, 3 * GOLDEN_VALUES * 4 * (long)tensor, SEEK_SET), 0);
	models.base = read_floats(file);
	models.inputs[0] = read_floats(file);
	models.inputs[1] = read_floats(file);
	fclose(file);
	return models;
}

/* A value of a result, or its "sum" or "l2". */
static double golden_figure(const float *result, const char *which)
{
	double sum = 0.0, squares = 0.0;

	for (size_t e = 0; e < GOLDEN_VALUES; e++) {
		sum += (double)result[e];
		squares += (double)result[e] * (double)result[e];
	}
	if (strcmp(which, "sum") == 0)
		return sum;
	return strcmp(which, "l2") == 0 ? sqrt(squares) : (double)result[strtoul(which, NULL, 10)];
}

void check_golden_merges(merge_function *merge, void *context)
{
	struct merge_models models[] = { golden_models(0), golden_models(1), golden_models(2) };
	char method[32], tensor[64], which[16], line[160];
	FILE *table = fopen("tests/unit/golden_merge.tsv", "r");
	float result[GOLDEN_VALUES];
	unsigned lines = 0;
	double value;

	assert_non_null(table);
	assert_non_null(fgets(line, sizeof(line), table));
	for (; fgets(line, sizeof(line), table); lines++) {
		struct merge_rule rule;
		unsigned t;

		assert_int_equal(sscanf(line, "%31s %63s %15s %lf", method, tensor, which, &value),
				 4);
		t = golden_rule(method, tensor, &rule);
		merge(context, &rule, &models[t], result);
		if (!(fabs(golden_figure(result, which) - value) <= 2e-6 * fmax(1e-3, fabs(value))))
			fail_msg("%s %s %s: %.9g", method, tensor, which,
				 golden_figure(result, which));
	}
	assert_int_equal(lines, 13 * 2 * 50 + 8 * 50);
	fclose(table);
	for (unsigned t = 0; t < ARRAY_LENGTH(models); t++)
		merge_models_free(&models[t]);
}
