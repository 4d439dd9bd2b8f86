/* SPDX-License-Identifier: MIT */
/* terminal_picture_internal.h - the parts of a screen: the cells (terminal_picture.c), and below
 * them the legend, the grafts and the verdict (terminal_picture_notes.c). */
#ifndef FS_COMMANDS_TERMINAL_PICTURE_INTERNAL_H
#define FS_COMMANDS_TERMINAL_PICTURE_INTERNAL_H

#include <stddef.h>
#include <stdio.h>

struct picture_grid;
struct terminal;
struct terminal_picture;

/* 'a' to 'z' by the number of the donor; '?' for an unknown one, or if no letter is left. */
char terminal_picture_letter(size_t donor);

/* Forms of a cell, with their columns. Wide ones show the number; tiny ones, without colours, show
 * its distance from the median. */
enum terminal_picture_form {
	FORM_TINY = 1,	 /* a sign or a glyph */
	FORM_NARROW = 3, /* whole degrees and a mark */
	FORM_WIDE = 7,	 /* degrees with a decimal, and two marks */
};

/* The glyph of a step, from far below the median to far above it. */
const char *terminal_picture_glyph(const struct terminal *terminal, int step);

/* Print the legend of the colours and marks that occur, and the grafts. */
void terminal_picture_notes(const struct picture_grid *grid, const struct terminal_picture *screen,
			    const struct terminal *terminal, enum terminal_picture_form form,
			    FILE *out);

#endif
