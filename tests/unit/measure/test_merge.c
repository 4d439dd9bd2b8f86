/* SPDX-License-Identifier: MIT */
/* test_merge.c - measure/merge.c and its modules: against a table from NumPy, against the
 * definitions, and properties of every method. */
#include "measure/merge.h"
#include "measure/merge_random.h"
#include "tests/unit/merges.h"
#include "tests/unit/zinputs.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* ## the table */

static void merge_in_memory(void *context, const struct merge_rule *rule,
			    const struct merge_models *models, float *result)
{
	(void)context;
	merge_all(rule, models, 1, result);
}

static void every_method_agrees_with_the_table(void **state)
{
	(void)state;
	check_golden_merges(merge_in_memory, NULL);
}

/* ## the definitions */

static bool takes_two(enum merge_method method)
{
	return method == MERGE_SLERP || method == MERGE_NUSLERP;
}

static bool takes_one(enum merge_method method)
{
	return method == MERGE_PASSTHROUGH || method == MERGE_NEARSWAP ||
	       method == MERGE_ARCEE_FUSION;
}

static const uint64_t shapes[][2] = { { 1, 1 },	  { 1, 7 },   { 64, 1 },   { 3, 64 },  { 5, 65 },
				      { 13, 77 }, { 2, 640 }, { 31, 128 }, { 1, 4096 } };

static void check_shapes(struct merge_rule rule)
{
	for (size_t s = 0; s < ARRAY_LENGTH(shapes); s++) {
		struct merge_models models;

		rule.rows = shapes[s][0];
		rule.columns = shapes[s][1];
		models = merge_models_new(&rule, (uint32_t)s + 7);
		check_merge(&rule, &models);
		merge_models_free(&models);
	}
}

static void every_method_agrees_with_its_definition(void **state)
{
	(void)state;
	for (enum merge_method method = 0; method < MERGE_METHODS; method++)
		for (unsigned n = 1; n <= MERGES_INPUTS; n++) {
			struct merge_rule rule = merge_rule_of(method, n, 1, 1, "blk.0.w");

			if (takes_two(method) ? n != 2 : takes_one(method) && n != 1)
				continue;
			check_shapes(rule);
			rule.has_base = true;
			rule.normalize = !rule.normalize && method != MERGE_PASSTHROUGH;
			rule.rescale = !rule.rescale;
			rule.lambda = -1.3;
			check_shapes(rule);
		}
}

static void nuslerp_of_rows_and_columns_is_that_of_each(void **state)
{
	struct merge_rule rule = merge_rule_of(MERGE_NUSLERP, 2, 1, 1, "w");

	(void)state;
	for (rule.extent = MERGE_WHOLE; rule.extent <= MERGE_COLUMNS; rule.extent++) {
		rule.has_base = false;
		check_shapes(rule);
		rule.has_base = true;
		check_shapes(rule);
	}
	/* If the weights cancel, each counts half. */
	rule.extent = MERGE_ROWS;
	rule.inputs[0].weight = -rule.inputs[1].weight;
	check_shapes(rule);
}

static void model_stock_of_rows_is_that_of_each(void **state)
{
	(void)state;
	for (unsigned n = 1; n <= 4; n++) {
		struct merge_rule rule = merge_rule_of(MERGE_MODEL_STOCK, n, 13, 77, "w");
		struct merge_models models = merge_models_new(&rule, 3);
		float result[13 * 77];

		rule.extent = MERGE_ROWS;
		check_merge(&rule, &models);
		assert_int_equal(merge_all(&rule, &models, 1, result), 0);
		merge_models_free(&models);
	}
}

/* Rounding leaves the cosine of opposite vectors a little above -1; the formula must not divide by
 * the sine of that angle. */
static void nuslerp_of_opposite_vectors_is_their_average(void **state)
{
	struct merge_rule rule = merge_rule_of(MERGE_NUSLERP, 2, 1, 64, "w");
	uint32_t random = 1;

	(void)state;
	rule.has_base = true;
	for (unsigned k = 0; k < 1000; k++) {
		float base[64] = { 0.0f }, a[64], b[64], result[64];
		const struct merge_models models = { base, { a, b } };
		const double t =
			rule.inputs[1].weight / (rule.inputs[0].weight + rule.inputs[1].weight);

		rule.columns = k % 2 ? 1 : 64;
		for (unsigned i = 0; i < rule.columns; i++) {
			random = random * 1664525u + 1013904223u;
			base[i] = rule.columns == 1 ? (float)(random >> 16) / 65537.0f : 0.0f;
			a[i] = base[i] + (float)(random >> 18) / 16383.0f;
			b[i] = base[i] - 3.0f * (a[i] - base[i]);
		}
		merge_all(&rule, &models, 1, result);
		for (unsigned i = 0; i < rule.columns; i++) {
			const double expected = (1.0 - t) * a[i] + t * b[i];

			assert_true(fabs(result[i] - expected) < 1e-5);
		}
	}
}

static void each_input_has_its_own_density(void **state)
{
	static const double densities[] = { 0.0, 1.0, 0.3, 1e-9, 0.999 };

	(void)state;
	for (enum merge_method method = MERGE_TIES; method <= MERGE_BREADCRUMBS_TIES; method++) {
		struct merge_rule rule = merge_rule_of(method, 5, 1, 1, "w");

		for (unsigned i = 0; i < 5; i++)
			rule.inputs[i].density = densities[i];
		check_shapes(rule);
		rule.rescale = !rule.rescale;
		check_shapes(rule);
	}
}

/* Density 0 keeps nothing, density 1 everything. */
static void densities_of_0_and_1_keep_nothing_and_all(void **state)
{
	(void)state;
	for (enum merge_method method = MERGE_TIES; method <= MERGE_BREADCRUMBS_TIES; method++) {
		struct merge_rule rule = merge_rule_of(method, 2, 11, 70, "w"), all = rule;
		struct merge_models models = merge_models_new(&rule, 3);
		float result[770], expected[770];

		for (unsigned i = 0; i < 2; i++) {
			rule.inputs[i].density = rule.inputs[i].epsilon = 0.0;
			all.inputs[i].density = 1.0;
		}
		merge_all(&rule, &models, 4, result);
		assert_memory_equal(result, models.base, sizeof(result));
		assert_int_equal(merge_all(&all, &models, 4, result), 0);
		if (method == MERGE_DARE_LINEAR || method == MERGE_DELLA_LINEAR ||
		    method == MERGE_BREADCRUMBS) {
			all.method = MERGE_TASK_ARITHMETIC;
			merge_all(&all, &models, 4, expected);
			for (size_t e = 0; e < ARRAY_LENGTH(result); e++)
				assert_true(fabsf(result[e] - expected[e]) < 1e-7f);
		}
		merge_models_free(&models);
	}
}

/* multislerp averages vectors without a mean direction, and karcher stays at the first. */
static void opposite_vectors_have_no_direction_of_their_own(void **state)
{
	static const enum merge_method both[] = { MERGE_MULTISLERP, MERGE_KARCHER };

	(void)state;
	for (unsigned k = 0; k < 2; k++) {
		struct merge_rule rule = merge_rule_of(both[k], 2, 3, 65, "w");
		struct merge_models models = merge_models_new(&rule, 29);
		float result[195];

		rule.inputs[1].weight = 0.6;
		for (size_t e = 0; e < ARRAY_LENGTH(result); e++)
			models.inputs[1][e] = -3.0f * models.inputs[0][e];
		merge_all(&rule, &models, 1, result);
		for (size_t e = 0; e < ARRAY_LENGTH(result); e++) {
			const float x = models.inputs[0][e];
			const float expected = k ? 2.0f * x : -x;

			assert_true(fabsf(result[e] - expected) <= 1e-6f * fabsf(expected));
		}
		merge_models_free(&models);
	}
}

static void karcher_counts_short_vectors_by_their_length_alone(void **state)
{
	struct merge_rule rule = merge_rule_of(MERGE_KARCHER, 3, 2, 70, "w");
	struct merge_models models = merge_models_new(&rule, 31);
	float result[140];

	(void)state;
	memset(models.inputs[0], 0, sizeof(result));
	memset(models.inputs[2], 0, sizeof(result));
	merge_all(&rule, &models, 1, result);
	for (size_t e = 0; e < ARRAY_LENGTH(result); e++)
		assert_true(fabsf(result[e] - models.inputs[1][e] / 3.0f) <= 1e-7f);
	rule.tol = 1.0;
	rule.max_iter = 0.0;
	for (size_t e = 0; e < ARRAY_LENGTH(result); e++)
		models.inputs[1][e] *= 1e-4f;
	merge_all(&rule, &models, 1, result);
	for (size_t e = 0; e < ARRAY_LENGTH(result); e++)
		assert_true(result[e] == 0.0f);
	merge_models_free(&models);
}

static void sce_leaves_out_the_common_part_of_inputs(void **state)
{
	static const double shares[] = { 0.0, 1e-9, 0.5, 0.999, 1.0 };
	static const unsigned passes[] = { 2, 2, 4, 4, 1 };
	struct merge_rule rule = merge_rule_of(MERGE_SCE, 3, 2, 70, "w");
	struct merge_models models = merge_models_new(&rule, 37);
	float result[140];

	(void)state;
	memcpy(models.inputs[1], models.inputs[0], 100 * sizeof(float));
	memcpy(models.inputs[2], models.inputs[0], 100 * sizeof(float));
	for (size_t k = 0; k < ARRAY_LENGTH(shares); k++) {
		unsigned n;

		rule.select_topk = shares[k];
		check_merge(&rule, &models);
		n = merge_all(&rule, &models, 1, result);
		assert_true(n == passes[k] || n == passes[k] - 1);
		if (shares[k] < 1.0)
			assert_memory_equal(result, models.base, 100 * sizeof(float));
	}
	merge_models_free(&models);
}

/* In a tensor that mostly equals the base, every difference exceeds the quartiles. */
static void arcee_fusion_takes_all_where_most_is_the_same(void **state)
{
	struct merge_rule rule = merge_rule_of(MERGE_ARCEE_FUSION, 1, 4, 65, "w");
	struct merge_models models = merge_models_new(&rule, 41);
	float result[260];

	(void)state;
	memcpy(models.inputs[0], models.base, 200 * sizeof(float));
	merge_all(&rule, &models, 1, result);
	assert_memory_equal(result, models.inputs[0], sizeof(result));
	merge_models_free(&models);
}

static void nearswap_takes_differences_up_to_t(void **state)
{
	struct merge_rule rule = merge_rule_of(MERGE_NEARSWAP, 1, 1, 3, "w");
	float base[] = { 1.0f, 1.0f, 1.0f }, x[] = { 1.25f, 0.5f, 3.0f }, result[3];
	const struct merge_models models = { base, { x } };

	(void)state;
	rule.t = 0.5;
	merge_all(&rule, &models, 1, result);
	assert_true(result[0] == 1.25f && result[1] == 0.5f && result[2] == 1.5f);
	rule.t = -1.0;
	merge_all(&rule, &models, 1, result);
	assert_memory_equal(result, base, sizeof(base));
}

/* ## properties of every method */

static void rows_are_the_same_however_many_are_handed_over(void **state)
{
	(void)state;
	for (enum merge_method method = 0; method < MERGE_METHODS; method++) {
		struct merge_rule rule = merge_rule_of(method, 2, 37, 129, "w");
		struct merge_models models = merge_models_new(&rule, 5);
		float *one = new_values(37 * 129), *other = new_values(37 * 129);

		merge_all(&rule, &models, 1, one);
		for (uint64_t at_a_time = 2; at_a_time <= 64; at_a_time *= 2) {
			merge_all(&rule, &models, at_a_time, other);
			assert_memory_equal(one, other, 37 * 129 * sizeof(*one));
		}
		free(one);
		free(other);
		merge_models_free(&models);
	}
}

static void passes_are_as_few_as_the_method_needs(void **state)
{
	static const unsigned passes[MERGE_METHODS] = {
		[MERGE_SLERP] = 1,	 [MERGE_NUSLERP] = 1,
		[MERGE_MODEL_STOCK] = 1, [MERGE_TIES] = 3,
		[MERGE_DARE_LINEAR] = 1, [MERGE_DARE_TIES] = 1,
		[MERGE_DELLA] = 1,	 [MERGE_DELLA_LINEAR] = 1,
		[MERGE_BREADCRUMBS] = 3, [MERGE_BREADCRUMBS_TIES] = 3,
		[MERGE_RAMPLUS_TL] = 1,	 [MERGE_MULTISLERP] = 1,
		[MERGE_KARCHER] = 1,	 [MERGE_SCE] = 4,
		[MERGE_ARCEE_FUSION] = 2
	};
	float result[640];

	(void)state;
	for (enum merge_method method = 0; method < MERGE_METHODS; method++) {
		struct merge_rule rule = merge_rule_of(method, 2, 10, 64, "w");
		struct merge_models models = merge_models_new(&rule, 11);

		assert_int_equal(merge_all(&rule, &models, 10, result), passes[method]);
		merge_models_free(&models);
	}
}

/* The models equal the base, and so do the signs of their zeros. */
static void models_that_are_the_base_stay_it_to_the_bit(void **state)
{
	(void)state;
	for (enum merge_method method = 0; method < MERGE_METHODS; method++) {
		struct merge_rule rule = merge_rule_of(method, 2, 5, 70, "w");
		struct merge_models models = merge_models_new(&rule, 13);
		float result[350];

		if (method == MERGE_PASSTHROUGH) {
			rule.n = 1;
			rule.inputs[0].weight = 1.0;
		}
		models.base[0] = models.base[349] = -0.0f;
		models.base[1] = 0.0f;
		for (unsigned i = 0; i < 2; i++)
			memcpy(models.inputs[i], models.base, sizeof(result));
		merge_all(&rule, &models, 5, result);
		for (size_t e = 0; e < ARRAY_LENGTH(result); e++)
			assert_true(fabsf(result[e] - models.base[e]) <=
				    FLT_EPSILON * fabsf(models.base[e]));
		if (method != MERGE_SLERP && method != MERGE_NUSLERP &&
		    method != MERGE_MULTISLERP && method != MERGE_KARCHER)
			assert_memory_equal(result, models.base, sizeof(result));
		merge_models_free(&models);
	}
}

static void tensors_of_zeros_stay_zeros(void **state)
{
	(void)state;
	for (enum merge_method method = 0; method < MERGE_METHODS; method++)
		for (unsigned with_base = 0; with_base < 2; with_base++) {
			struct merge_rule rule = merge_rule_of(method, 2, 3, 67, "w");
			struct merge_models models = merge_models_new(&rule, 1);
			float result[201];

			rule.has_base = with_base;
			memset(models.base, 0, sizeof(result));
			memset(models.inputs[0], 0, sizeof(result));
			memset(models.inputs[1], 0, sizeof(result));
			merge_all(&rule, &models, 2, result);
			for (size_t e = 0; e < ARRAY_LENGTH(result); e++)
				assert_true(result[e] == 0.0f);
			merge_models_free(&models);
		}
}

/* Elements beside a non-finite one are finite; non-finite ones become NaN, or are computed from
 * the other inputs. */
static void only_elements_that_are_not_finite_suffer(void **state)
{
	static const float values[] = { NAN, INFINITY, -INFINITY };

	(void)state;
	for (enum merge_method method = 0; method < MERGE_METHODS; method++)
		for (unsigned v = 0; v < ARRAY_LENGTH(values); v++) {
			struct merge_rule rule = merge_rule_of(method, 2, 9, 65, "w");
			struct merge_models models = merge_models_new(&rule, 17);
			float result[585];

			models.inputs[0][100] = models.base[300] = values[v];
			models.inputs[1][584] = values[v];
			rule.n = method == MERGE_PASSTHROUGH ? 1 : 2;
			merge_all(&rule, &models, 2, result);
			for (size_t e = 0; e < ARRAY_LENGTH(result); e++)
				assert_true(isfinite(result[e]) || e == 100 || e == 300 ||
					    e == 584);
			assert_true(!isfinite(result[100]));
			assert_true(!merge_uses_base(&rule) || !isfinite(result[300]));
			merge_models_free(&models);
		}
}

static void differences_that_cancel_leave_the_base(void **state)
{
	struct merge_rule rule = merge_rule_of(MERGE_MODEL_STOCK, 2, 4, 16, "w");
	struct merge_models models = merge_models_new(&rule, 17);
	float result[64];

	(void)state;
	for (size_t e = 0; e < 64; e++) {
		models.base[e] = 1.0f;
		models.inputs[0][e] = 1.0f + (e % 2 ? 0.5f : -0.25f);
		models.inputs[1][e] = 1.0f - (e % 2 ? 0.5f : -0.25f);
	}
	merge_all(&rule, &models, 1, result);
	assert_memory_equal(result, models.base, sizeof(result));
	merge_models_free(&models);
}

static void a_row_may_be_made_in_place_of_an_input(void **state)
{
	(void)state;
	for (enum merge_method method = 0; method < MERGE_METHODS; method++) {
		struct merge_rule rule = merge_rule_of(method, 2, 1, 200, "w");
		struct merge_models models = merge_models_new(&rule, 19);
		float apart[200], rows[600];
		struct merge m;

		merge_all(&rule, &models, 1, apart);
		for (unsigned place = 0; place < 3; place++) {
			const float *const inputs[] = { rows + 200, rows + 400 };
			void *scratch = malloc(merge_scratch(&rule) + merge_row_scratch(&rule) + 1);

			assert_non_null(scratch);
			memcpy(rows, models.base, sizeof(apart));
			memcpy(rows + 200, models.inputs[0], sizeof(apart));
			memcpy(rows + 400, models.inputs[1], sizeof(apart));
			for (merge_begin(&m, &rule, scratch); merge_needs_pass(&m);
			     merge_end_pass(&m))
				merge_feed(&m, 1, rows, inputs);
			merge_row(&m, 0, rows, inputs, (char *)scratch + merge_scratch(&rule),
				  rows + place * 200);
			assert_memory_equal(rows + place * 200, apart, sizeof(apart));
			free(scratch);
		}
		merge_models_free(&models);
	}
}

/* Rows beyond the last, and passes without rows, do no harm. */
static void passes_with_other_rows_do_no_harm(void **state)
{
	(void)state;
	for (enum merge_method method = 0; method < MERGE_METHODS; method++) {
		struct merge_rule rule = merge_rule_of(method, 2, 3, 50, "w");
		struct merge_models models = merge_models_new(&rule, 23);
		const float *const inputs[] = { models.inputs[0], models.inputs[1] };
		void *scratch = malloc(merge_scratch(&rule) + 1);
		unsigned passes = 0;
		struct merge m;

		assert_non_null(scratch);
		rule.rows = 2;
		for (merge_begin(&m, &rule, scratch); merge_needs_pass(&m); merge_end_pass(&m))
			if (passes++ % 2)
				merge_feed(&m, 3, models.base, inputs);
		assert_true(passes <= 4);
		free(scratch);
		merge_models_free(&models);
	}
}

/* ## memory */

static void memory_is_bounded_by_the_row_and_the_inputs(void **state)
{
	(void)state;
	for (enum merge_method method = 0; method < MERGE_METHODS; method++) {
		struct merge_rule rule = merge_rule_of(method, 2, 32000, 4096, "w");

		assert_true(merge_scratch(&rule) <= (size_t)1 << 20);
		assert_true(merge_row_scratch(&rule) <= (size_t)1 << 16);
		assert_int_equal(merge_scratch_kept(&rule), 0);
	}
	assert_true(sizeof(struct merge) <= 8192);
}

static void impossible_memory_is_reported(void **state)
{
	struct merge_rule rule = merge_rule_of(MERGE_DELLA, 2, 1, (uint64_t)UINT32_MAX + 1, "w");

	(void)state;
	assert_true(merge_row_scratch(&rule) == SIZE_MAX && merge_scratch(&rule) == SIZE_MAX);
	rule = merge_rule_of(MERGE_NUSLERP, 2, 1, (uint64_t)1 << 62, "w");
	rule.extent = MERGE_COLUMNS;
	assert_true(merge_scratch(&rule) == SIZE_MAX && merge_scratch_kept(&rule) == SIZE_MAX);
}

/* ## randomness */

static void the_hash_is_xxh64(void **state)
{
	uint64_t element = 0, seed = 1;

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		uint8_t bytes[8];

		for (unsigned b = 0; b < 8; b++)
			bytes[b] = (uint8_t)(element >> 8 * b);
		assert_true(merge_hash(element, seed) == XXH64(bytes, sizeof(bytes), seed));
		assert_true(merge_random(element, seed) < 1u << 24);
		element = element * 6364136223846793005u + 1442695040888963407u;
		seed ^= element;
	}
}

/* An element's number is below a density that is a little larger, and not below itself. */
static void an_element_is_kept_if_its_number_is_below_the_density(void **state)
{
	struct merge_rule rule = merge_rule_of(MERGE_DARE_LINEAR, 1, 1, 1, "w");
	const double number = merge_random(0, rule.inputs[0].seed);
	struct merge_models models = merge_models_new(&rule, 1);
	float result;

	(void)state;
	rule.rescale = false;
	rule.lambda = rule.inputs[0].weight = 1.0;
	models.base[0] = 1.0f;
	models.inputs[0][0] = 3.0f;
	rule.inputs[0].density = (number + 0.5) / 0x1p24;
	merge_all(&rule, &models, 1, &result);
	assert_true(result == 3.0f);
	rule.inputs[0].density = number / 0x1p24;
	merge_all(&rule, &models, 1, &result);
	assert_true(result == 1.0f);
	merge_models_free(&models);
}

UNIT_MAIN(NULL, NULL)
