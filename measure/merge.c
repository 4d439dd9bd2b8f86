/* SPDX-License-Identifier: MIT */
/* merge.c - see merge.h: the passes in their order, and rows cut into strips. */
#include "merge_internal.h"

#include <assert.h>

const char *const merge_method_names[MERGE_METHODS] = {
	[MERGE_LINEAR] = "linear",
	[MERGE_PASSTHROUGH] = "passthrough",
	[MERGE_SLERP] = "slerp",
	[MERGE_NUSLERP] = "nuslerp",
	[MERGE_MODEL_STOCK] = "model_stock",
	[MERGE_TASK_ARITHMETIC] = "task_arithmetic",
	[MERGE_TIES] = "ties",
	[MERGE_DARE_LINEAR] = "dare_linear",
	[MERGE_DARE_TIES] = "dare_ties",
	[MERGE_DELLA] = "della",
	[MERGE_DELLA_LINEAR] = "della_linear",
	[MERGE_BREADCRUMBS] = "breadcrumbs",
	[MERGE_BREADCRUMBS_TIES] = "breadcrumbs_ties",
	[MERGE_NEARSWAP] = "nearswap",
	[MERGE_RAM] = "ram",
	[MERGE_RAMPLUS_TL] = "ramplus_tl",
	[MERGE_MULTISLERP] = "multislerp",
	[MERGE_KARCHER] = "karcher",
	[MERGE_SCE] = "sce",
	[MERGE_ARCEE_FUSION] = "arcee_fusion",
};

/* begin sets the first pass; NULL: none. make's result is a difference from the base if
 * merge_uses_base(). */
struct kind {
	void (*begin)(struct merge *m);
	void (*make)(const struct merge *m, const struct merge_strip *strip,
		     double result[MERGE_STRIP]);
};

static const struct kind average = { merge_average_begin, merge_average },
			 task = { merge_task_begin, merge_task },
			 near_swap = { NULL, merge_nearswap }, ram = { merge_ram_begin, merge_ram },
			 sce = { merge_sce_begin, merge_sce },
			 fusion = { NULL, merge_arcee_fusion };

struct method {
	const struct kind *kind;
	bool based;  /* works on differences from the base */
	bool elects; /* elects the sign of each element */
	enum merge_choice choice;
};

static const struct method methods[] = {
	[MERGE_LINEAR] = { .kind = &average },
	[MERGE_PASSTHROUGH] = { .kind = &average },
	[MERGE_SLERP] = { .kind = &average },
	[MERGE_NUSLERP] = { .kind = &average },
	[MERGE_MODEL_STOCK] = { &average, .based = true },
	[MERGE_TASK_ARITHMETIC] = { &average, .based = true },
	[MERGE_TIES] = { &task, true, true, MERGE_CHOOSE_BY_MAGNITUDE },
	[MERGE_DARE_LINEAR] = { &task, true, false, MERGE_CHOOSE_BY_CHANCE },
	[MERGE_DARE_TIES] = { &task, true, true, MERGE_CHOOSE_BY_CHANCE },
	[MERGE_DELLA] = { &task, true, true, MERGE_CHOOSE_BY_RANK_AND_CHANCE },
	[MERGE_DELLA_LINEAR] = { &task, true, false, MERGE_CHOOSE_BY_RANK_AND_CHANCE },
	[MERGE_BREADCRUMBS] = { &task, true, false, MERGE_CHOOSE_BY_MAGNITUDE },
	[MERGE_BREADCRUMBS_TIES] = { &task, true, true, MERGE_CHOOSE_BY_MAGNITUDE },
	[MERGE_NEARSWAP] = { &near_swap, .based = true },
	[MERGE_RAM] = { &ram, .based = true },
	[MERGE_RAMPLUS_TL] = { &ram, .based = true },
	[MERGE_MULTISLERP] = { .kind = &average },
	[MERGE_KARCHER] = { .kind = &average },
	[MERGE_SCE] = { &sce, true, true, MERGE_CHOOSE_BY_VARIANCE },
	[MERGE_ARCEE_FUSION] = { &fusion, true, false, MERGE_CHOOSE_BY_IMPORTANCE },
};

static_assert(sizeof(methods) / sizeof(methods[0]) == MERGE_METHODS, "each method has a line");

enum merge_choice merge_choice(enum merge_method method)
{
	return methods[method].choice;
}

bool merge_elects(enum merge_method method)
{
	return methods[method].elects;
}

bool merge_uses_base(const struct merge_rule *rule)
{
	const bool may_be = rule->method == MERGE_NUSLERP || rule->method == MERGE_MULTISLERP;

	return methods[rule->method].based || (may_be && rule->has_base);
}

/* Memory. */

static bool needs_ranks(const struct merge_rule *rule)
{
	return methods[rule->method].choice == MERGE_CHOOSE_BY_RANK_AND_CHANCE;
}

static size_t columns_of(uint64_t columns, size_t bytes)
{
	size_t all;

	return __builtin_mul_overflow(columns, bytes, &all) ? SIZE_MAX : all;
}

/* Ranks of each input, and buffers for sorting. */
size_t merge_row_scratch(const struct merge_rule *rule)
{
	if (!needs_ranks(rule))
		return 0;
	if (rule->columns > UINT32_MAX)
		return SIZE_MAX;
	return columns_of(rule->columns, (rule->n + 2) * sizeof(uint32_t));
}

size_t merge_scratch_kept(const struct merge_rule *rule)
{
	return merge_columns_apart(rule) ? columns_of(rule->columns, 2 * sizeof(double)) : 0;
}

size_t merge_scratch(const struct merge_rule *rule)
{
	if (merge_columns_apart(rule))
		return columns_of(rule->columns, 3 * sizeof(double));
	if (merge_trim_orders(rule))
		return merge_trim_orders(rule) * MERGE_TRIM_COUNTS * sizeof(uint64_t);
	return merge_row_scratch(rule);
}

/* Strips. */

static const float *fill_up(const float *values, size_t n, float filled[MERGE_STRIP])
{
	if (n == MERGE_STRIP)
		return values;
	memcpy(filled, values, n * sizeof(*values));
	memset(filled + n, 0, (MERGE_STRIP - n) * sizeof(*values));
	return filled;
}

/* Cut a strip from the prepared row, at a column. filled: buffers for a short strip. */
static void cut_strip(const struct merge_rule *rule, uint64_t row, size_t column, const float *base,
		      const float *const inputs[], float filled[][MERGE_STRIP],
		      struct merge_strip *strip)
{
	static const float zeros[MERGE_STRIP];
	const size_t left = (size_t)rule->columns - column;

	strip->element = row * rule->columns + column;
	strip->column = column;
	strip->n = left < MERGE_STRIP ? left : MERGE_STRIP;
	strip->base = zeros;
	if (merge_uses_base(rule))
		strip->base = fill_up(base + column, strip->n, filled[rule->n]);
	for (unsigned i = 0; i < rule->n; i++)
		strip->inputs[i] = fill_up(inputs[i] + column, strip->n, filled[i]);
}

/* Compute the ranks of a row's magnitudes in scratch. */
static const uint32_t *find_ranks(const struct merge_rule *rule, const float *base,
				  const float *const inputs[], void *scratch)
{
	const size_t columns = (size_t)rule->columns;
	uint32_t *ranks = scratch;

	for (unsigned i = 0; i < rule->n; i++)
		merge_ranks(inputs[i], base, columns, ranks + i * columns,
			    ranks + rule->n * columns);
	return ranks;
}

/* Compute the figures of a whole row that the method needs. */
static void prepare_strip(const struct merge_rule *rule, const float *base,
			  const float *const inputs[], void *scratch, struct merge_strip *strip)
{
	strip->ranks = NULL;
	strip->divergence = 0.0;
	if (needs_ranks(rule))
		strip->ranks = find_ranks(rule, base, inputs, scratch);
	if (methods[rule->method].choice == MERGE_CHOOSE_BY_IMPORTANCE)
		strip->divergence = merge_divergence(inputs[0], base, (size_t)rule->columns);
}

/* Passes. */

static const struct {
	void (*add)(struct merge *m, const struct merge_strip *strip);
	void (*end)(struct merge *m);
} passes[MERGE_PASS_NONE] = {
	[MERGE_PASS_ARCS] = { merge_arcs_add, merge_arcs_end },
	[MERGE_PASS_UPPER] = { merge_trim_add, merge_trim_end_pass },
	[MERGE_PASS_LOWER] = { merge_trim_add, merge_trim_end_pass },
	[MERGE_PASS_EQUAL_KEYS] = { merge_trim_add, merge_trim_end_pass },
	[MERGE_PASS_MAGNITUDES] = { merge_magnitudes_add, merge_magnitudes_end },
	[MERGE_PASS_CHANGES] = { merge_changes_add, merge_changes_end },
	[MERGE_PASS_SQUARES] = { merge_squares_add, merge_squares_end },
};

void merge_begin(struct merge *m, const struct merge_rule *rule, void *scratch)
{
	m->rule = *rule;
	m->scratch = scratch;
	m->row = 0;
	m->pass = MERGE_PASS_NONE;
	if (methods[rule->method].kind->begin)
		methods[rule->method].kind->begin(m);
	if (merge_trim_orders(rule))
		merge_trim_begin(m);
}

bool merge_needs_pass(const struct merge *m)
{
	return m->pass != MERGE_PASS_NONE;
}

static void feed_row(struct merge *m, uint64_t row, const float *base, const float *const inputs[])
{
	float filled[MERGE_INPUTS_MAX + 1][MERGE_STRIP];
	struct merge_strip strip;

	if (m->pass == MERGE_PASS_NONE)
		return;
	prepare_strip(&m->rule, base, inputs, m->scratch, &strip);
	for (size_t column = 0; column < m->rule.columns; column += MERGE_STRIP) {
		cut_strip(&m->rule, row, column, base, inputs, filled, &strip);
		passes[m->pass].add(m, &strip);
	}
}

void merge_feed(struct merge *m, uint64_t n, const float *base, const float *const inputs[])
{
	const size_t columns = (size_t)m->rule.columns;
	const float *rows[MERGE_INPUTS_MAX];

	for (unsigned i = 0; i < m->rule.n; i++)
		rows[i] = inputs[i];
	for (; n > 0 && m->row < m->rule.rows; n--) {
		feed_row(m, m->row++, base, rows);
		if (base)
			base += columns;
		for (unsigned i = 0; i < m->rule.n; i++)
			rows[i] += columns;
	}
}

void merge_end_pass(struct merge *m)
{
	m->row = 0;
	if (m->pass != MERGE_PASS_NONE)
		passes[m->pass].end(m);
}

/* Rows. */

static void make_strip(const struct merge *m, const struct merge_strip *strip, float *result)
{
	double values[MERGE_STRIP];

	methods[m->rule.method].kind->make(m, strip, values);
	/* Two subtractions keep a base of -0 if nothing is added. */
	if (merge_uses_base(&m->rule))
		for (unsigned k = 0; k < MERGE_STRIP; k++)
			values[k] = (double)strip->base[k] - (0.0 - values[k]);
	for (size_t k = 0; k < strip->n; k++)
		result[k] = (float)values[k];
}

/* If rows are separate vectors, each has its own factors. */
static void find_row_factors(struct merge *m, uint64_t row, const float *base,
			     const float *const inputs[])
{
	m->pass = MERGE_PASS_ARCS;
	feed_row(m, row, base, inputs);
	merge_end_pass(m);
}

void merge_row(const struct merge *m, uint64_t row, const float *base, const float *const inputs[],
	       void *scratch, float *result)
{
	float filled[MERGE_INPUTS_MAX + 1][MERGE_STRIP];
	struct merge_strip strip;
	struct merge own;

	prepare_strip(&m->rule, base, inputs, scratch, &strip);
	if (merge_rows_apart(&m->rule)) {
		own = *m;
		find_row_factors(&own, row, base, inputs);
		m = &own;
	}
	for (size_t column = 0; column < m->rule.columns; column += MERGE_STRIP) {
		cut_strip(&m->rule, row, column, base, inputs, filled, &strip);
		make_strip(m, &strip, result + column);
	}
}
