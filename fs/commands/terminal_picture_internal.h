/* SPDX-License-Identifier: MIT */
/* terminal_picture_internal.h - the parts of a screen: cells (terminal_picture.c), and below them
 * what they mean and what was done (terminal_picture_notes.c). */
#ifndef FS_COMMANDS_TERMINAL_PICTURE_INTERNAL_H
#define FS_COMMANDS_TERMINAL_PICTURE_INTERNAL_H

#include <stddef.h>
#include <stdio.h>

struct picture_grid;
struct terminal;
struct terminal_picture;

/* "a" to "z" by the number of the donor, '?' for one that is not known or has no letter left. */
char terminal_picture_letter(size_t donor);

/* Cells that show a number do so; others, without colours, show how far it is from the median. */
enum terminal_picture_form {
	FORM_TINY = 1,	 /* a sign or a glyph; the numbers are the columns that it takes */
	FORM_NARROW = 3, /* whole degrees and a mark */
	FORM_WIDE = 7,	 /* with a decimal, and two marks */
};

/* From far below the median to far above it. */
const char *terminal_picture_glyph(const struct terminal *terminal, int step);

/* What colours and marks mean, only those that occur, and what was grafted. */
void terminal_picture_notes(const struct picture_grid *grid, const struct terminal_picture *screen,
			    const struct terminal *terminal, enum terminal_picture_form form,
			    FILE *out);

#endif
