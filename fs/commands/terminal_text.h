/* SPDX-License-Identifier: MIT */
/* terminal_text.h - what a terminal can show, and text for it: any bytes, as many columns as there
 * is room for. */
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
	bool dark; /* its ground */
};

#define TERMINAL_COLUMNS_MIN 40
#define TERMINAL_COLUMNS_MAX 1000

/* What standard output is: columns by COLUMNS, or the terminal, or 80; colours by NO_COLOR,
 * CLICOLOR_FORCE, TERM and COLORTERM, and none where it is no terminal; the ground by COLORFGBG,
 * dark where that is not said; letters by the locale, which is set to the environment's. */
struct terminal terminal_text_detect_stdout(void);

/* The same from these facts: is it a terminal, of so many columns (0: not known), in a locale of
 * UTF-8? */
struct terminal terminal_text_detect(bool is_terminal, size_t columns, bool utf8);

/* Print text in so many columns at most, with "..." where it is cut. Controls, and what would turn
 * the direction of the text, stand as U+FFFD or '?'; without UTF-8 so does all but ASCII, θ
 * (theta), ° (nothing) and a few more. Returns the columns it took. */
size_t terminal_text_put(const struct terminal *terminal, FILE *out, const char *text,
			 size_t columns);

/* The columns that a text takes, as terminal_text_put() prints it. */
size_t terminal_text_width(const struct terminal *terminal, const char *text);

/* What follows stands on the colour of that step (palette.h), in the ink that is read best on it;
 * is bold; is as usual. */
void terminal_text_step(const struct terminal *terminal, FILE *out, int step);
void terminal_text_bold(const struct terminal *terminal, FILE *out);
void terminal_text_plain(const struct terminal *terminal, FILE *out);

#endif
