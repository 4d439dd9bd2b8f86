/* SPDX-License-Identifier: MIT */
/* merge.h - one tensor of several models merged into one, row by row, by the methods of mergekit.
 *
 * x_i is the tensor of model i, b that of the base model, d_i = x_i - b, w_i the weight:
 *
 *	linear		sum of w_i x_i, divided by the sum of w_i if normalize
 *	passthrough	w_0 x_0
 *	slerp		x_0 and x_1 along the arc between them, at t
 *	nuslerp		as slerp, at w_1 / (w_0 + w_1); with a base: of d_0 and d_1, plus b
 *	model_stock	b + t (mean of x_i - b), t of the mean cosine of the pairs of d_i
 *	task_arithmetic	b + lambda * sum of w_i d_i
 *	ties		the density * n largest d_i; their signs elected, the mean of these
 *	dare_linear	each d_i kept with probability density; dare_ties: with an election
 *	della		as dare_ties, with a probability that grows with the rank in the row;
 *			della_linear: without an election
 *	breadcrumbs	d_i without its gamma * n largest, density * n kept;
 *			breadcrumbs_ties: with an election
 *	nearswap	b + min(1, t / |d_0|) d_0
 *	ram		b + mean of the d_i that are larger than epsilon, of each element
 *	ramplus_tl	the same; a d_i that is alone so is multiplied by 1 + r * min(alpha, s / u),
 *			s and u the numbers of elements that d_i shares, and has alone
 *	multislerp	weighted mean of the directions of x_i, as long as the weighted mean of the
 *			lengths; with a base of d_i, b added
 *	karcher		Karcher mean of the directions of x_i, as long as the mean of the lengths
 *	sce		d_i where their variance is largest, an election, the mean of these
 *			weighted by the squares of d_i
 *	arcee_fusion	x_0 where |d_0| times the divergence of the rows is large, else b
 *
 * Formulas: arcee-ai/mergekit, mergekit/merge_methods, as of 2026; Yadav et al. 2023 (TIES), Yu et
 * al. 2024 (DARE), Deep et al. 2024 (DELLA), Davari and Belilovsky 2024 (Breadcrumbs), Jang et al.
 * 2024 (Model Stock), Wan et al. 2024 (SCE), arXiv 2601.13572 (RAM). Randomness is this project's
 * own: see struct merge_input.
 *
 * Figures of the whole tensor are found first, in passes over all its rows. The number of passes
 * depends on the method and is often 0. Afterwards any row can be merged at any time:
 *
 *	merge_begin(m, rule, scratch);
 *	while (merge_needs_pass(m)) {
 *		for some rows after some others
 *			merge_feed(m, n_rows, base, inputs);
 *		merge_end_pass(m);
 *	}
 *	merge_row(m, row, base, inputs, row_scratch, result);
 *
 * A row is the same whenever it is merged, and however many rows are fed at a time. All arithmetic
 * is in double precision; magnitudes, variances and importances are compared as floats, equal ones
 * by element number. acos(), sin(), exp() and log() are the C library's, so an arc may differ in
 * the last bit between machines.
 *
 * Values that are not finite: sums over the tensor omit terms that are not finite; among magnitudes
 * NaN is the largest. An element that is not finite in the base or an input becomes the result of
 * IEEE 754 arithmetic, mostly NaN. Other elements are not affected.
 *
 * No function allocates memory or fails. */
#ifndef MEASURE_MERGE_H
#define MEASURE_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MERGE_INPUTS_MAX 16

enum merge_method {
	MERGE_LINEAR,
	MERGE_PASSTHROUGH,
	MERGE_SLERP,
	MERGE_NUSLERP,
	MERGE_MODEL_STOCK,
	MERGE_TASK_ARITHMETIC,
	MERGE_TIES,
	MERGE_DARE_LINEAR,
	MERGE_DARE_TIES,
	MERGE_DELLA,
	MERGE_DELLA_LINEAR,
	MERGE_BREADCRUMBS,
	MERGE_BREADCRUMBS_TIES,
	MERGE_NEARSWAP,
	MERGE_RAM,
	MERGE_RAMPLUS_TL,
	MERGE_MULTISLERP,
	MERGE_KARCHER,
	MERGE_SCE,
	MERGE_ARCEE_FUSION,
	MERGE_METHODS
};

/* By their names in mergekit. */
extern const char *const merge_method_names[MERGE_METHODS];

/* Vectors that nuslerp treats separately: the tensor (nuslerp_flatten, the default), each row, or
 * each column (nuslerp_row_wise); for model_stock the tensor, or each row (filter_wise). */
enum merge_extent { MERGE_WHOLE, MERGE_ROWS, MERGE_COLUMNS };

/* A model other than the base. Methods ignore parameters that they do not use. */
struct merge_input {
	double weight;	/* for passthrough the scale */
	double density; /* 1 and above: d_i is kept whole */
	double gamma;	/* breadcrumbs */
	double epsilon; /* della */
	/* dare, della: element e is kept if the upper 24 bits of the XXH64 of e, as eight
	 * little-endian bytes, with this seed, divided by 2^24, are below the probability. By
	 * convention the seed is the XXH64 of the tensor's name, seeded with the random seed plus
	 * the input's index. */
	uint64_t seed;
};

struct merge_rule {
	enum merge_method method;
	/* Inputs, 1 to MERGE_INPUTS_MAX; exactly 2 for slerp and nuslerp, 1 for nearswap and
	 * arcee_fusion. */
	unsigned n;
	bool has_base; /* nuslerp, multislerp: use differences from the base */
	/* Divide by the sum of the weights; with an election, of those that agree. By default
	 * true for linear, ties, della and multislerp. */
	bool normalize;
	/* Scale the kept part of d_i so that its sum of magnitudes is that of d_i. By default true
	 * for dare and della. */
	bool rescale;
	enum merge_extent extent;
	double lambda, t;
	double epsilon;		/* ram, ramplus_tl: smaller differences are ignored; at least 0 */
	double r, alpha;	/* ramplus_tl */
	double eps;		/* multislerp: added to norms; at least 0 */
	double tol;		/* karcher: smaller lengths and angles are 0; at least 0 */
	double max_iter;	/* karcher: number of steps, rounded down */
	double select_topk;	/* sce: share of the elements that is kept; 1 and above: all */
	uint64_t rows, columns; /* shape of the tensor; the product is below 2^63 */
	struct merge_input inputs[MERGE_INPUTS_MAX];
};

/* A position in an order of elements, mostly an input's d ordered by magnitude: by the values' bits
 * without the sign, equal values by element number. */
struct merge_cut {
	uint64_t rank;	  /* number of elements before it */
	uint64_t element; /* first element with this key behind the cut */
	uint64_t ties;	  /* elements with this key before the cut that are not yet counted */
	int32_t key;
};

enum merge_pass {
	MERGE_PASS_ARCS,
	MERGE_PASS_UPPER,
	MERGE_PASS_LOWER,
	MERGE_PASS_EQUAL_KEYS,
	MERGE_PASS_MAGNITUDES,
	MERGE_PASS_CHANGES,
	MERGE_PASS_SQUARES,
	MERGE_PASS_NONE
};

/* State of an input. */
struct merge_part {
	double factor;		   /* factor for its values, or for its differences from the base */
	struct merge_cut from, to; /* cuts between which differences are kept */
	double all, kept;	   /* sums of all and of the kept magnitudes */
	uint64_t shared, alone;	   /* ramplus_tl: changed by others too; by no other */
};

/* State of the merge of one tensor, in the caller's memory; all members are private. After the
 * passes it is constant, and threads may share it. */
struct merge {
	struct merge_rule rule;
	enum merge_pass pass, then; /* `then` follows the passes that find cuts */
	uint64_t row;		    /* next row of this pass */
	struct merge_part parts[MERGE_INPUTS_MAX];
	double products[MERGE_INPUTS_MAX][MERGE_INPUTS_MAX]; /* of vectors i <= j; sce: of i = j */
	void *scratch;
};

/* Does merge_row() need the base? If not, base may be NULL. */
bool merge_uses_base(const struct merge_rule *rule);

/* Size of the scratch for the passes, and of its first part that merge_row() needs, too, in bytes.
 * SIZE_MAX: too large. */
size_t merge_scratch(const struct merge_rule *rule);
size_t merge_scratch_kept(const struct merge_rule *rule);

/* Size of the scratch for merge_row() in bytes. SIZE_MAX: too large. */
size_t merge_row_scratch(const struct merge_rule *rule);

/* scratch is aligned as by malloc(); its content is ignored. */
void merge_begin(struct merge *m, const struct merge_rule *rule, void *scratch);

/* Are all rows needed once more? Call before each pass. */
bool merge_needs_pass(const struct merge *m);

/* Feed the next n rows of the base, if it is used, and of each input. */
void merge_feed(struct merge *m, uint64_t n, const float *base, const float *const inputs[]);

/* End a pass after all rows. If the rows were fewer, or others than in the last pass, the result is
 * meaningless, but the call is safe. */
void merge_end_pass(struct merge *m);

/* Merge row number `row`. scratch: merge_row_scratch() bytes, aligned as by malloc(), for one
 * thread. result may be the base or an input. */
void merge_row(const struct merge *m, uint64_t row, const float *base, const float *const inputs[],
	       void *scratch, float *result);

#endif
