/* SPDX-License-Identifier: MIT */
/* merges.h - a whole tensor merged by measure/merge.h, and by its formulas in plain form:
 * everything in memory, sorted by qsort() and hashed by the xxHash library. */
#ifndef TESTS_UNIT_MERGES_H
#define TESTS_UNIT_MERGES_H

#include "measure/merge.h"
#include "tests/unit/unit.h"

#include <float.h>
#include <math.h>

#define MERGES_INPUTS 5

/* A tensor of a base and of its descendants, in memory from malloc(). */
struct merge_models {
	float *base;
	float *inputs[MERGES_INPUTS];
};

/* A rule with mergekit's defaults, n inputs of weights 0.6, 0.3, ... and densities 0.5, lambda
 * 0.9, and the seed for a tensor of that name. */
struct merge_rule merge_rule_of(enum merge_method method, unsigned n, uint64_t rows,
				uint64_t columns, const char *name);

/* Models with values of few magnitudes, so that many are equal. */
struct merge_models merge_models_new(const struct merge_rule *rule, uint32_t seed);

void merge_models_free(struct merge_models *models);

/* Merge in passes of that many rows at a time. Returns the number of passes. */
unsigned merge_all(const struct merge_rule *rule, const struct merge_models *models,
		   uint64_t at_a_time, float *result);

/* Merge by the definition; the caller frees the result. */
double *merge_by_definition(const struct merge_rule *rule, const struct merge_models *models);

/* Merge d of each input, which may change, by a method of merges_whole.c: result, zeros at first,
 * becomes the change to the base, if the method has one. Returns false for other methods. */
bool merge_whole(const struct merge_rule *rule, const struct merge_models *models,
		 double *const d[], double *result);

/* Check that both agree, within 2e-6 of the larger of a value and 0.001. */
void check_merge(const struct merge_rule *rule, const struct merge_models *models);

/* Check the function against a table from NumPy. golden_merge.f32 holds 256 floats each of a base
 * and two others, for two tensors of real models (one row) and for one that
 * tests/tools/merge_formulas.py made (eight rows); golden_merge.tsv has the results. */
typedef void merge_function(void *context, const struct merge_rule *rule,
			    const struct merge_models *models, float *result);
void check_golden_merges(merge_function *merge, void *context);

#endif
