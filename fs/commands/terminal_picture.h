/* SPDX-License-Identifier: MIT */
/* terminal_picture.h - what a grid shows (picture_grid.h), as text for a terminal: what theta.svg
 * is to a browser. */
#ifndef FS_COMMANDS_TERMINAL_PICTURE_H
#define FS_COMMANDS_TERMINAL_PICTURE_H

#include <stdio.h>

struct terminal;

/* All of it is borrowed, and may hold any bytes. */
struct terminal_picture {
	const char *name;
	const struct figures *figures;
	const char *grafts; /* .grafts, of which what is no tensor's is told here; NULL: none */
	const char *check;  /* .check; NULL: it is not shown */
};

/* Returns 0 or -ENOMEM, also where out has failed. */
int terminal_picture_print(const struct terminal_picture *screen, const struct terminal *terminal,
			   FILE *out);

#endif
