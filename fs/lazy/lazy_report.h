/* SPDX-License-Identifier: MIT */
/* lazy_report.h - a text made as a whole from the Z-measures of all tensors of a model. Its length
 * does not depend on them, so it is known before anything is measured. */
#ifndef FS_LAZY_LAZY_REPORT_H
#define FS_LAZY_LAZY_REPORT_H

#include <stdio.h>

struct figures;
struct memo;
struct view;

/* Prints the text. Its length in bytes is the same whatever the z of the figures are, NULL too.
 * Returns 0 or -ENOMEM. */
typedef int lazy_report_print_fn(const struct figures *figures, FILE *out);

/* The text as a view. measures is borrowed and outlives it; figures become the view's, also on
 * failure. NULL: out of memory. */
struct view *lazy_report_view(struct memo *measures, struct figures *figures,
			      lazy_report_print_fn *print);

#endif
