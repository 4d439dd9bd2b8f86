/* SPDX-License-Identifier: MIT */
/* screen_internal.h - the parts of a screen: cells (screen.c), and below them what they mean and
 * what was done (screen_notes.c). */
#ifndef FS_SCREEN_INTERNAL_H
#define FS_SCREEN_INTERNAL_H

#include "fs/files/picture_grid.h"
#include "fs/terminal_picture.h"

/* "a" to "z" by the number of the donor, '?' for one that is not known or has no letter left. */
char screen_letter(size_t donor);

/* Cells that show a number do so; others, without colours, show how far it is from the median. */
enum screen_form {
	FORM_TINY = 1,	 /* a sign or a glyph; the numbers are the columns that it takes */
	FORM_NARROW = 3, /* whole degrees and a mark */
	FORM_WIDE = 7,	 /* with a decimal, and two marks */
};

/* From far below the median to far above it. */
const char *screen_glyph(const struct terminal *terminal, int step);

/* What colours and marks mean, only those that occur, and what was grafted. */
void screen_notes(const struct grid *grid, const struct screen *screen,
		  const struct terminal *terminal, enum screen_form form, FILE *out);

#endif
