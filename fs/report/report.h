/* SPDX-License-Identifier: MIT */
/* report.h - .theta of a model: its card, θ over all tensors, by class and by kind, the tensors
 * with the lowest θ, and conclusions.
 *
 * The text is plain and can be parsed: remarks begin with '#', any other line with a word for its
 * kind (model, mean, class, kind, well), followed by fields between blanks. */
#ifndef FS_REPORT_REPORT_H
#define FS_REPORT_REPORT_H

#include "fs/lazy/lazy_report.h"

lazy_report_print_fn report_print;

#endif
