/* SPDX-License-Identifier: MIT */
/* picture_style.c - colours and marks. Each colour is an attribute, which any program draws, and a
 * class, to which a browser gives another colour on a dark ground. */
#include "fs/files/picture_internal.h"

#include <math.h>

#define CLASSES_OF_CELLS "0123456789abcnv"

/* Ground, ink, soft ink and lines. */
static const char light[] =
	".p{fill:#ffffff}.ps{stroke:#ffffff}.i{fill:#1a1a1a}"
	".is{stroke:#1a1a1a}.s{fill:#5a5a5a}.ss{stroke:#5a5a5a}.b{fill:#fafafa}";
static const char dark[] = ".p{fill:#16181b}.ps{stroke:#16181b}.i{fill:#e8e8e8}"
			   ".is{stroke:#e8e8e8}.s{fill:#a4a8ad}.ss{stroke:#a4a8ad}.b{fill:#1c1f23}";

char picture_style_class(int step, double theta)
{
	if (isnan(theta))
		return 'v';
	return step == GRID_NONE ? 'n' : CLASSES_OF_CELLS[step + GRID_STEPS];
}

struct rgb picture_style_ground(char klass, bool is_dark)
{
	static const struct rgb none[2] = { { 0xe4, 0xe4, 0xe4 }, { 0x44, 0x47, 0x4c } };
	static const struct rgb alone[2] = { { 0xff, 0xff, 0xff }, { 0x16, 0x18, 0x1b } };

	if (klass == 'v')
		return none[is_dark];
	if (klass == 'n')
		return alone[is_dark];
	return palette_step((klass <= '9' ? klass - '0' : klass - 'a' + 10) - GRID_STEPS, is_dark);
}

static void print_cells(FILE *out, bool is_dark)
{
	char ground[COLOUR_MAX], ink[COLOUR_MAX];

	for (const char *klass = CLASSES_OF_CELLS; *klass; klass++) {
		const struct rgb rgb = picture_style_ground(*klass, is_dark);

		fprintf(out, ".c%c{fill:%s}.k%c{fill:%s}", *klass, rgb_text(ground, rgb), *klass,
			rgb_text(ink, palette_ink(rgb)));
	}
}

void picture_style_print(FILE *out)
{
	char colour[COLOUR_MAX];

	fprintf(out, "<style>\n%s\n", light);
	print_cells(out, false);
	fprintf(out, "\n@media (prefers-color-scheme: dark) {\n%s\n", dark);
	print_cells(out, true);
	fputs("\n}\n</style>\n<defs><linearGradient id=\"angle\">", out);
	for (int i = 0; i < PALETTE_STOPS; i++)
		fprintf(out, "<stop offset=\"%.4f\" stop-color=\"%s\"/>", i / (PALETTE_STOPS - 1.0),
			rgb_text(colour, palette_angle(90.0 * i / (PALETTE_STOPS - 1))));
	fputs("</linearGradient><pattern id=\"removed\" width=\"6\" height=\"6\" "
	      "patternUnits=\"userSpaceOnUse\"><rect class=\"p\" width=\"6\" height=\"6\" "
	      "fill=\"#ffffff\"/><path class=\"ss\" d=\"M-1 1l2 -2M0 6l6 -6M5 7l2 -2\" "
	      "stroke=\"#5a5a5a\" stroke-width=\"1.2\"/></pattern></defs>\n",
	      out);
}

void picture_style_changes(FILE *out, const struct figure *figure, size_t donor,
			   struct picture_box box)
{
	char colour[COLOUR_MAX];
	const size_t side = box.width < 11 ? box.width : 11;
	const size_t sign = box.width >= PICTURE_DECIMALS ? 4 : box.width >= PICTURE_WHOLE ? 3 : 2;

	/* A corner in the donor's colour marks a graft. */
	if (figure_is(figure, FIGURE_GRAFTED))
		fprintf(out,
			"<path class=\"ps\" d=\"M%zu %zuh%zul-%zu %zuz\" fill=\"%s\" "
			"stroke=\"#ffffff\" stroke-width=\".7\"/>",
			box.x, box.y, side, side, side, rgb_text(colour, palette_donor(donor)));
	if (figure_is(figure, FIGURE_ADDED) && box.width > 3)
		fprintf(out,
			"<rect class=\"is\" x=\"%zu\" y=\"%zu\" width=\"%zu\" height=\"%zu\" "
			"fill=\"none\" stroke=\"#1a1a1a\" stroke-width=\"2\"/>",
			box.x + 1, box.y + 1, box.width - 2, box.height - 2);
	if (figure_is(figure, FIGURE_CONVERTED))
		fprintf(out,
			"<path class=\"i ps\" d=\"M%zu %zul%zu %zul-%zu %zul-%zu -%zuz\" "
			"fill=\"#1a1a1a\" stroke=\"#ffffff\" stroke-width=\".7\"/>",
			box.x + box.width - sign - 1, box.y + box.height - 2 * sign - 1, sign, sign,
			sign, sign, sign, sign);
	if (figure_is(figure, FIGURE_MERGED))
		fprintf(out,
			"<circle class=\"i ps\" cx=\"%zu\" cy=\"%zu\" r=\"%zu\" fill=\"#1a1a1a\" "
			"stroke=\"#ffffff\" stroke-width=\".7\"/>",
			box.x + sign + 1, box.y + box.height - sign - 1, sign);
}
