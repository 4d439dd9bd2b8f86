/* SPDX-License-Identifier: MIT */
/* sheet.h - a text made as a whole from the Z-measures of all tensors of a model. Its length does
 * not depend on them, so it is known before anything is measured. */
#ifndef FS_SHEET_H
#define FS_SHEET_H

#include "fs/lazy/figures.h"
#include "fs/storage/view.h"

#include <stdio.h>

/* Prints the text. Its length in bytes is the same whatever the z of the figures are, NULL too.
 * Returns 0 or -ENOMEM. */
typedef int sheet_print(const struct figures *figures, FILE *out);

/* The text as a view. readings is borrowed and outlives it; figures become the view's, also on
 * failure. NULL: out of memory. */
struct view *sheet_view(struct readings *readings, struct figures *figures, sheet_print *print);

#endif
