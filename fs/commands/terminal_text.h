/* SPDX-License-Identifier: MIT */
/* terminal_text.h - the abilities of a terminal, and safe output of any bytes in a limited number
 * of columns. */
#ifndef FS_COMMANDS_TERMINAL_TEXT_H
#define FS_COMMANDS_TERMINAL_TEXT_H

#include <stdbool.h>
#include <stdio.h>

enum terminal_colours {
	COLOURS_NONE,
	COLOURS_256,  /* the cube and the greys of xterm */
	COLOURS_FULL, /* 24 bits */
};

struct terminal {
	size_t columns;
	enum terminal_colours colours;
	bool utf8;
	bool dark; /* its background */
};

#define TERMINAL_COLUMNS_MIN 40
#define TERMINAL_COLUMNS_MAX 1000

/* Detect the abilities of standard output: columns by COLUMNS, else from the terminal, else 80;
 * colours by NO_COLOR, CLICOLOR_FORCE, TERM and COLORTERM, and none without a terminal; the
 * background by COLORFGBG, dark by default; characters by the locale, which is set from the
 * environment. */
struct terminal terminal_text_detect_stdout(void);

/* Detect the same for given facts: terminal or not, columns (0: unknown), and UTF-8 locale
 * or not. */
struct terminal terminal_text_detect(bool is_terminal, size_t columns, bool utf8);

/* Print text in at most that many columns, and "..." where it is cut. Control characters and those
 * that change the text's direction are printed as U+FFFD or '?'. Without UTF-8, so are all
 * characters except ASCII and a few that have a replacement, such as θ (theta) and ° (nothing).
 * Returns the columns used. */
size_t terminal_text_put(const struct terminal *terminal, FILE *out, const char *text,
			 size_t columns);

/* Columns that terminal_text_put() needs for a text. */
size_t terminal_text_width(const struct terminal *terminal, const char *text);

/* Switch the output to the background of a step (palette.h) with the most readable ink; to bold;
 * back to normal. */
void terminal_text_step(const struct terminal *terminal, FILE *out, int step);
void terminal_text_bold(const struct terminal *terminal, FILE *out);
void terminal_text_plain(const struct terminal *terminal, FILE *out);

#endif
