/* SPDX-License-Identifier: MIT */
/* terminal_text.c - see terminal_text.h. Escape sequences are those of ECMA-48 and xterm. */
#include "fs/commands/terminal_text.h"
#include "fs/files/palette.h"
#include "fs/util/utf8.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

/* The value of an environment variable, or NULL if it is unset or empty. */
static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value && value[0] ? value : NULL;
}

static enum terminal_colours colours_of(bool is_terminal)
{
	const char *force = variable("CLICOLOR_FORCE"), *depth = variable("COLORTERM");
	const char *term = variable("TERM");
	const bool forced = force && strcmp(force, "0") != 0;

	if (variable("NO_COLOR"))
		return COLOURS_NONE;
	if (!forced && (!is_terminal || !term || strcmp(term, "dumb") == 0))
		return COLOURS_NONE;
	return depth && (strcmp(depth, "truecolor") == 0 || strcmp(depth, "24bit") == 0)
		       ? COLOURS_FULL
		       : COLOURS_256;
}

/* COLORFGBG is "ink;ground", or "ink;other;ground", in numbers of the 16 colours. */
static bool is_dark(void)
{
	const char *value = variable("COLORFGBG"), *ground = value ? strrchr(value, ';') : NULL;

	return !ground || (strcmp(ground, ";7") != 0 && strcmp(ground, ";15") != 0);
}

struct terminal terminal_text_detect(bool is_terminal, size_t columns, bool utf8)
{
	const char *given = variable("COLUMNS");
	const unsigned long number = given ? strtoul(given, NULL, 10) : 0;

	if (number)
		columns = number;
	if (columns == 0)
		columns = 80;
	if (columns < TERMINAL_COLUMNS_MIN)
		columns = TERMINAL_COLUMNS_MIN;
	if (columns > TERMINAL_COLUMNS_MAX)
		columns = TERMINAL_COLUMNS_MAX;
	return (struct terminal){ columns, colours_of(is_terminal), utf8, is_dark() };
}

struct terminal terminal_text_detect_stdout(void)
{
	struct winsize size = { 0 };
	const bool is_terminal = isatty(STDOUT_FILENO);

	if (!is_terminal || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
		size.ws_col = 0;
	setlocale(LC_CTYPE, "");
	return terminal_text_detect(is_terminal, size.ws_col,
				    strcmp(nl_langinfo(CODESET), "UTF-8") == 0);
}

/* A printed code point: n bytes, columns wide. */
struct glyph {
	const char *bytes;
	size_t n, columns;
};

/* Replacement of a code point outside ASCII if the locale is not UTF-8. */
static const char *ascii_of(uint32_t code)
{
	switch (code) {
	case 0x3b8: /* θ */
		return "theta";
	case 0xb0: /* ° */
		return "";
	case 0x2212: /* − */
		return "-";
	default:
		return "?";
	}
}

static struct glyph glyph_of(const struct terminal *terminal, const char *text, size_t *length)
{
	uint32_t code;
	int width;

	*length = utf8_next(text, &code);
	if (code < 0x80)
		return (struct glyph){ text, 1, 1 };
	if (!terminal->utf8)
		return (struct glyph){ ascii_of(code), strlen(ascii_of(code)),
				       strlen(ascii_of(code)) };
	width = wcwidth((wchar_t)code);
	if (code == UTF8_REPLACEMENT || width < 0)
		return (struct glyph){ "\xef\xbf\xbd", 3, 1 };
	return (struct glyph){ text, *length, (size_t)width };
}

size_t terminal_text_width(const struct terminal *terminal, const char *text)
{
	size_t columns = 0, length;

	for (; *text; text += length)
		columns += glyph_of(terminal, text, &length).columns;
	return columns;
}

size_t terminal_text_put(const struct terminal *terminal, FILE *out, const char *text,
			 size_t columns)
{
	const bool cut = terminal_text_width(terminal, text) > columns;
	const char *dots = columns > 3 ? "..." : "";
	const size_t room = cut ? columns - strlen(dots) : columns;
	size_t used = 0, length;

	for (; *text; text += length) {
		const struct glyph glyph = glyph_of(terminal, text, &length);

		if (used + glyph.columns > room)
			break;
		fwrite(glyph.bytes, 1, glyph.n, out);
		used += glyph.columns;
	}
	if (!cut)
		return used;
	fputs(dots, out);
	return used + strlen(dots);
}

/* 16 is the black of the cube, 231 its white. */
void terminal_text_step(const struct terminal *terminal, FILE *out, int step)
{
	const unsigned number = palette_step_xterm(step, terminal->dark);
	const struct rgb ground = terminal->colours == COLOURS_FULL
					  ? palette_step(step, terminal->dark)
					  : palette_xterm(number);
	const unsigned ink = palette_ink(ground).red;

	if (terminal->colours == COLOURS_FULL)
		fprintf(out, "\033[38;2;%u;%u;%u;48;2;%u;%u;%um", ink, ink, ink, ground.red,
			ground.green, ground.blue);
	/* The cube has no colour as faint as the first step. */
	else if (terminal->colours == COLOURS_256 && abs(step) > 1)
		fprintf(out, "\033[38;5;%u;48;5;%um", ink ? 231u : 16u, number);
}

void terminal_text_bold(const struct terminal *terminal, FILE *out)
{
	if (terminal->colours != COLOURS_NONE)
		fputs("\033[1m", out);
}

void terminal_text_plain(const struct terminal *terminal, FILE *out)
{
	if (terminal->colours != COLOURS_NONE)
		fputs("\033[0m", out);
}
