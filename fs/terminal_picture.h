/* SPDX-License-Identifier: MIT */
/* screen.h - what a grid shows (grid.h), as text for a terminal: what theta.svg is to a browser. */
#ifndef FS_SCREEN_H
#define FS_SCREEN_H

#include "fs/lazy/figures.h"
#include "fs/terminal_text.h"

/* All of it is borrowed, and may hold any bytes. */
struct screen {
	const char *name;
	const struct figures *figures;
	const char *grafts; /* .grafts, of which what is no tensor's is told here; NULL: none */
	const char *check;  /* .check; NULL: it is not shown */
};

/* Returns 0 or -ENOMEM, also where out has failed. */
int screen_print(const struct screen *screen, const struct terminal *terminal, FILE *out);

#endif
