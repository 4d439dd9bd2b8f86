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

/* Print the text. Its length in bytes depends on the names alone, and on how many models and
 * tensors there are, not on the figures. Returns 0 or -ENOMEM. */
int ranking_print(const struct ranked *models, size_t n, FILE *out);

#endif
