/* SPDX-License-Identifier: MIT */
/* lazy_report.h - a text computed as a whole from the Z-measures of all tensors of a model. Its
 * length does not depend on the values, so it is known before any tensor is measured. */
#ifndef FS_LAZY_LAZY_REPORT_H
#define FS_LAZY_LAZY_REPORT_H

#include <stdio.h>

struct figures;
struct memo;
struct view;

/* Print the text, of the same length in bytes whichever z the figures have, even NULL. Returns 0 or
 * -ENOMEM. */
typedef int lazy_report_print_fn(const struct figures *figures, FILE *out);

/* The text as a view. measures is borrowed and outlives the view; figures become the view's, also
 * on failure. NULL: out of memory. */
struct view *lazy_report_view(struct memo *measures, struct figures *figures,
			      lazy_report_print_fn *print);

#endif
