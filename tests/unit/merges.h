/* SPDX-License-Identifier: MIT */
/* merges.h - a whole tensor merged by measure/merge.h, and by the formulas as they are written
 * there, with everything in memory, sorted by qsort() and hashed by the xxHash library. */
#ifndef TESTS_UNIT_MERGES_H
#define TESTS_UNIT_MERGES_H

#include "measure/merge.h"
#include "tests/unit/unit.h"

#include <float.h>
#include <math.h>

#define MERGES_INPUTS 5

/* A tensor of a base and of models that descend from it, in memory from malloc(). */
struct merge_models {
	float *base;
	float *inputs[MERGES_INPUTS];
};

/* Defaults of mergekit; of n inputs with weights 0.6, 0.3, ... and densities 0.5, and a lambda of
 * 0.9, seeded as for a tensor of that name. */
struct merge_rule merge_rule_of(enum merge_method method, unsigned n, uint64_t rows,
				uint64_t columns, const char *name);

/* Values of few different magnitudes, so that many are equal. */
struct merge_models merge_models_new(const struct merge_rule *rule, uint32_t seed);

void merge_models_free(struct merge_models *models);

/* Returns how many passes there were. Every pass is given that many rows at a time. */
unsigned merge_all(const struct merge_rule *rule, const struct merge_models *models,
		   uint64_t at_a_time, float *result);

/* In memory from malloc(). */
double *merge_by_definition(const struct merge_rule *rule, const struct merge_models *models);

/* Merge the d of each input, which may change, by a method of merges_whole.c: result, which holds
 * zeros, becomes the change to the base, if the method has one. False: it is another method. */
bool merge_whole(const struct merge_rule *rule, const struct merge_models *models,
		 double *const d[], double *result);

/* Both agree, within 2e-6 of the greater of a value and 0.001. */
void check_merge(const struct merge_rule *rule, const struct merge_models *models);

/* The function gives the values of a table computed in NumPy: golden_merge.f32 holds 256 floats
 * each of the base and of two others, of two tensors of real models, one row each, and of one that
 * tests/tools/merge_formulas.py made, eight rows; golden_merge.tsv has the results. */
typedef void merge_function(void *context, const struct merge_rule *rule,
			    const struct merge_models *models, float *result);
void check_golden_merges(merge_function *merge, void *context);

#endif
