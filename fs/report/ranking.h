/* SPDX-License-Identifier: MIT */
/* ranking.h - several models beside each other: their order by θ, how θ goes with their size, and
 * the range of each class over all. Figures in, text out. */
#ifndef FS_REPORT_RANKING_H
#define FS_REPORT_RANKING_H

#include "fs/report/theta_mean.h"
#include "gguf/anatomy.h"

#include <stdio.h>

struct ranked {
	const char *name; /* borrowed; of one line */
	uint64_t parameters;
	struct theta_mean all, classes[CLASSES];
	uint64_t total; /* tensors of the whole model, where only a part is here; else 0 */
};

/* One more tensor; z is NULL where it is not known. */
void ranking_count(struct ranked *ranked, enum organ_class klass, uint64_t elements,
		   const struct zmeasure *z);

/* Least squares of y = intercept + slope x. NaN what the points do not say. */
struct fitted_line {
	double slope, intercept, r;
	size_t n; /* points */
};
struct fitted_line ranking_fit_line(const double *x, const double *y, size_t n);

/* The models in their order: the highest θ over elements first, those without any last. To free.
 * NULL: out of memory. */
const struct ranked **ranking_sorted(const struct ranked *models, size_t n);

/* θ of a model, each tensor counting with its elements. NaN: it has none. */
double ranking_theta(const struct ranked *model);

/* How θ and the signal, each tensor counting once, go with the logarithm of the parameters. */
struct ranking_laws {
	struct fitted_line theta, signal; /* NaN where fewer than 3 models have a θ */
};
/* Of less models there is no law, whatever they measure. */
#define RANKING_LAW_LEAST 3
/* Returns 0 or -ENOMEM. */
int ranking_laws(const struct ranked *const *sorted, size_t n, struct ranking_laws *laws);

/* The mean θ of a class over all models: least and greatest, and of which. */
struct ranking_range {
	size_t tensors; /* of the class in all models */
	double least, most;
	const char *least_of, *most_of; /* borrowed names; NULL: there is none */
};
struct ranking_range ranking_range(const struct ranked *const *sorted, size_t n,
				   enum organ_class klass);

/* Print the text. Its length in bytes depends on the names alone, and on how many models and
 * tensors there are, not on the figures. Returns 0 or -ENOMEM. */
int ranking_print(const struct ranked *models, size_t n, FILE *out);

#endif
