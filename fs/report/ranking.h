/* SPDX-License-Identifier: MIT */
/* ranking.h - comparison of several models: their order by θ, the relation of θ and size, and the
 * range of each class over all models. Takes figures, prints text. */
#ifndef FS_REPORT_RANKING_H
#define FS_REPORT_RANKING_H

#include "fs/report/theta_mean.h"
#include "gguf/anatomy.h"

#include <stdio.h>

struct ranked {
	const char *name; /* borrowed; one line */
	uint64_t parameters;
	struct theta_mean all, classes[CLASSES];
	uint64_t total; /* tensors of the whole model if only a part is present, else 0 */
};

/* Count a tensor; z is NULL if unknown. */
void ranking_count(struct ranked *ranked, enum organ_class klass, uint64_t elements,
		   const struct zmeasure *z);

/* Least squares fit of y = intercept + slope x, NaN if undetermined. */
struct fitted_line {
	double slope, intercept, r;
	size_t n; /* points */
};
struct fitted_line ranking_fit_line(const double *x, const double *y, size_t n);

/* The models by falling θ over elements, those without θ last, to free. NULL: out of memory. */
const struct ranked **ranking_sorted(const struct ranked *models, size_t n);

/* θ of a model, weighted by elements. NaN: none. */
double ranking_theta(const struct ranked *model);

/* Fits of θ and of the signal, unweighted means, against the logarithm of the parameters. */
struct ranking_laws {
	struct fitted_line theta, signal; /* NaN if fewer than 3 models have a θ */
};
/* Least number of models for a law. */
#define RANKING_LAW_LEAST 3
/* Compute the laws. Returns 0 or -ENOMEM. */
int ranking_laws(const struct ranked *const *sorted, size_t n, struct ranking_laws *laws);

/* The least and the greatest mean θ of a class over all models, with the models' names. */
struct ranking_range {
	size_t tensors; /* tensors of the class in all models */
	double least, most;
	const char *least_of, *most_of; /* borrowed names; NULL: none */
};
struct ranking_range ranking_range(const struct ranked *const *sorted, size_t n,
				   enum organ_class klass);

/* Print the text. Its length in bytes depends on the names and the numbers of models and tensors
 * only, not on the figures. Returns 0 or -ENOMEM. */
int ranking_print(const struct ranked *models, size_t n, FILE *out);

#endif
