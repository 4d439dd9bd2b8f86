/* SPDX-License-Identifier: MIT */
/* report.h - .theta of a model: what it is, θ over all tensors, by class and by kind of tensor, the
 * tensors with the lowest θ, and what may be concluded from it.
 *
 * Plain text that a program can read: lines of remarks begin with '#', every other line with a word
 * that says what it is (model, mean, class, kind, well), followed by fields between blanks. */
#ifndef FS_REPORT_REPORT_H
#define FS_REPORT_REPORT_H

#include "fs/lazy/lazy_report.h"

lazy_report_print_fn report_print;

#endif
