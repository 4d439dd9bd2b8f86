/* SPDX-License-Identifier: MIT */
/* merge_internal.h - shared by the modules of merge.h. Rows are processed in strips, whose loops
 * have a fixed length so that compilers vectorise them. If a row is not a multiple of a strip, its
 * last strip is filled with zeros, which add nothing to sums and are neither counted nor stored.
 * Strips begin where rows begin, so results do not depend on how rows are fed. */
#ifndef MEASURE_MERGE_INTERNAL_H
#define MEASURE_MERGE_INTERNAL_H

#include "merge.h"

#include <string.h>

#define MERGE_STRIP 64

/* counters of an order, in the passes that find cuts */
#define MERGE_TRIM_COUNTS (1u << 16)

/* Vectors are parallel or opposite, except for rounding, if the sine of their angle is smaller: one
 * ulp of a cosine of -1 makes it 1.5e-8. At such an angle an arc between parallel vectors equals
 * the average in double precision; between opposite vectors it is a rounding error divided by the
 * sine. */
#define MERGE_LEAST_SINE 1e-6

/* The same elements of the base and of all inputs. */
struct merge_strip {
	uint64_t element; /* the first one, counted in the tensor */
	size_t column;	  /* of the first one, in its row */
	size_t n;	  /* number of values without the filling */
	const float *base;
	const float *inputs[MERGE_INPUTS_MAX];
	/* Figures of the row, if the method needs them: ranks, one input after the other, and the
	 * input's divergence from the base. */
	const uint32_t *ranks;
	double divergence;
};

/* Rule by which values of an input are kept. */
enum merge_choice {
	MERGE_CHOOSE_ALL,
	MERGE_CHOOSE_BY_MAGNITUDE,
	MERGE_CHOOSE_BY_VARIANCE,
	MERGE_CHOOSE_BY_IMPORTANCE,
	MERGE_CHOOSE_BY_CHANCE,
	MERGE_CHOOSE_BY_RANK_AND_CHANCE
};

enum merge_choice merge_choice(enum merge_method method);
bool merge_elects(enum merge_method method);

/* Sum of the weights as a divisor: 1 if the sum is close to 0. */
double merge_sum_of_weights(const struct merge_rule *rule);

/* Is each row, or column, a separate vector? */
static inline bool merge_rows_apart(const struct merge_rule *rule)
{
	return (rule->method == MERGE_NUSLERP || rule->method == MERGE_MODEL_STOCK) &&
	       rule->extent == MERGE_ROWS;
}

static inline bool merge_columns_apart(const struct merge_rule *rule)
{
	return rule->method == MERGE_NUSLERP && rule->extent == MERGE_COLUMNS;
}

/* The values of an input minus the base's. */
static inline void merge_differences(const struct merge_strip *strip, unsigned input,
				     double differences[restrict MERGE_STRIP])
{
	const float *restrict x = strip->inputs[input], *restrict b = strip->base;

	for (unsigned k = 0; k < MERGE_STRIP; k++)
		differences[k] = (double)x[k] - (double)b[k];
}

/* Magnitudes, rounded to float, as bits, whose order is that of the numbers. A difference of floats
 * is the same whether it is rounded to float directly or from double. */
static inline void merge_keys(const double values[restrict MERGE_STRIP],
			      int32_t keys[restrict MERGE_STRIP])
{
	float rounded[MERGE_STRIP];

	for (unsigned k = 0; k < MERGE_STRIP; k++)
		rounded[k] = (float)values[k];
	memcpy(keys, rounded, sizeof(rounded));
	for (unsigned k = 0; k < MERGE_STRIP; k++)
		keys[k] &= INT32_MAX;
}

/* merge_average.c: sums of inputs with factors; arcs first need sums over the whole tensor. */
void merge_average_begin(struct merge *m);
void merge_arcs_add(struct merge *m, const struct merge_strip *strip);
void merge_arcs_end(struct merge *m);
void merge_average(const struct merge *m, const struct merge_strip *strip,
		   double result[MERGE_STRIP]);

/* merge_sphere.c: the factors for two methods of merge_average.c, from the products. */
void merge_multislerp(struct merge *m);
void merge_karcher(struct merge *m);

/* merge_trim.c: orders of the elements, of each input or of all together, and the cuts in them,
 * between which values are kept. Passes: upper bits, lower bits, ties. */
unsigned merge_trim_orders(const struct merge_rule *rule);
void merge_trim_begin(struct merge *m);
void merge_trim_add(struct merge *m, const struct merge_strip *strip);
void merge_trim_end_pass(struct merge *m);
void merge_trim_choose(const struct merge *m, unsigned order, const struct merge_strip *strip,
		       int32_t kept[MERGE_STRIP]);

/* merge_rank.c: the rank of each magnitude in its row. */
void merge_ranks(const float *values, const float *base, size_t n, uint32_t *ranks,
		 uint32_t *scratch);

/* merge_task.c: selected differences, perhaps with an election of signs. */
void merge_task_begin(struct merge *m);
void merge_magnitudes_add(struct merge *m, const struct merge_strip *strip);
void merge_magnitudes_end(struct merge *m);
void merge_task(const struct merge *m, const struct merge_strip *strip, double result[MERGE_STRIP]);

/* merge_ram.c: elements that one input changes, and elements that several change. */
void merge_ram_begin(struct merge *m);
void merge_changes_add(struct merge *m, const struct merge_strip *strip);
void merge_changes_end(struct merge *m);
void merge_ram(const struct merge *m, const struct merge_strip *strip, double result[MERGE_STRIP]);

/* merge_sce.c: the elements in which the inputs differ most, with an election. keys: variances. */
void merge_sce_begin(struct merge *m);
void merge_variance_keys(const struct merge_rule *rule, const struct merge_strip *strip,
			 int32_t keys[MERGE_STRIP]);
void merge_squares_add(struct merge *m, const struct merge_strip *strip);
void merge_squares_end(struct merge *m);
void merge_sce(const struct merge *m, const struct merge_strip *strip, double result[MERGE_STRIP]);

/* merge_swap.c: elements of one input that replace the base's. keys: importances. */
double merge_divergence(const float *input, const float *base, size_t n);
void merge_importance_keys(const struct merge_strip *strip, int32_t keys[MERGE_STRIP]);
void merge_nearswap(const struct merge *m, const struct merge_strip *strip,
		    double result[MERGE_STRIP]);
void merge_arcee_fusion(const struct merge *m, const struct merge_strip *strip,
			double result[MERGE_STRIP]);

#endif
