/* SPDX-License-Identifier: MIT */
/* terminal_picture.h - a grid (picture_grid.h) as text for a terminal, as theta.svg is for a
 * browser. */
#ifndef FS_COMMANDS_TERMINAL_PICTURE_H
#define FS_COMMANDS_TERMINAL_PICTURE_H

#include <stdio.h>

struct terminal;

/* All texts are borrowed, and may hold any bytes. */
struct terminal_picture {
	const char *name;
	const struct figures *figures;
	const char *grafts; /* .grafts, for its lines on metadata and adapters; or NULL */
	const char *check;  /* .check; NULL: not shown */
};

/* Returns 0, or -ENOMEM, also if writing to out failed. */
int terminal_picture_print(const struct terminal_picture *screen, const struct terminal *terminal,
			   FILE *out);

#endif
