/* SPDX-License-Identifier: MIT */
/* picture_cell.c - one tensor: its colour, mark, number and tooltip. The number of bytes printed
 * here must not depend on z. */
#include "fs/files/picture.h"
#include "fs/files/picture_internal.h"
#include "measure/zmeasure.h"

#include <inttypes.h>
#include <math.h>

static void print_measure(FILE *out, const struct figure *figure)
{
	const struct zmeasure none = zmeasure_unknown(ZMEASURE_NONFINITE + 1);
	const struct zmeasure *z = figure->z ? figure->z : &none;
	char theta[NUMBER_MAX], signal[NUMBER_MAX], entropy[NUMBER_MAX], kurtosis[NUMBER_MAX];
	char spacing[NUMBER_MAX], magnitude[NUMBER_MAX], number[NUMBER_MAX];

	fprintf(out, "\nθ %s°, signal %s, status %-9s\n",
		picture_number_fixed(theta, 5, 2, z->theta),
		picture_number_fixed(signal, 6, 4, z->signal),
		z->status > ZMEASURE_NONFINITE ? "undecoded" : zmeasure_status_name(z->status));
	fprintf(out, "entropy %s, kurtosis %s, spacing %s, magnitude %s%-12s",
		picture_number_fixed(entropy, 6, 4, z->entropy),
		picture_number_general(kurtosis, 12, z->kurtosis),
		picture_number_general(spacing, 12, z->spacing),
		picture_number_fixed(magnitude, 7, 4, z->has_magnitude ? z->magnitude : NAN),
		z->low_n ? ", few values" : "");
	if (figure->weighed)
		fprintf(out, "\nimportance %s",
			picture_number_general(number, 12, figure->importance));
}

static void print_changes(FILE *out, const struct picture_grid *grid,
			  const struct picture_grid_side *side)
{
	const struct figure *figure = side->figure;

	if (figure_is(figure, FIGURE_GRAFTED)) {
		fputs("\ngrafted from ", out);
		picture_text_print(out, side->donor < grid->n_donors
						? grid->donors[side->donor].label
						: "an unknown donor");
	}
	if (figure_is(figure, FIGURE_ADDED))
		fputs("\nadded: the base has no such tensor", out);
	if (figure_is(figure, FIGURE_CONVERTED))
		fputs("\nconverted: of another type than the base's", out);
	if (figure_is(figure, FIGURE_MERGED))
		fputs("\nmerged: adapters change it", out);
}

/* Print the tooltip of a tensor that the model has, or that was removed. */
static void print_tooltip(FILE *out, const struct picture_grid *grid,
			  const struct picture_grid_side *side)
{
	const struct figure *figure = side->figure;
	char median[NUMBER_MAX], spreads[NUMBER_MAX];

	fputs("<title>", out);
	picture_text_print(out, figure->file);
	fputs("\n", out);
	picture_text_print(out, figure->type);
	fprintf(out, ", %" PRIu64 " elements", figure->elements);
	if (figure_is(figure, FIGURE_REMOVED)) {
		fputs("\nremoved: the base has it</title>", out);
		return;
	}
	print_changes(out, grid, side);
	print_measure(out, figure);
	fprintf(out, "\nfrom the median %s° of its row %s spreads</title>",
		picture_number_fixed(median, 5, 2, side->median),
		picture_number_signed(spreads, 6, 1, (side->theta - side->median) / side->spread));
}

static void print_rect(FILE *out, struct picture_box box)
{
	fprintf(out, "<rect x=\"%zu\" y=\"%zu\" width=\"%zu\" height=\"%zu\"", box.x, box.y,
		box.width, box.height);
}

static void print_ground(FILE *out, char klass, bool special, struct picture_box box)
{
	char colour[COLOUR_MAX];

	print_rect(out, box);
	/* "none" and "#bbb" have the same length. */
	fprintf(out, " class=\"c%c\" fill=\"%s\" stroke=\"%s\"/>", klass,
		rgb_text(colour, picture_style_ground(klass, false)),
		special || klass == 'n' ? "#bbb" : "none");
}

static void print_text(FILE *out, char klass, struct picture_box box, const char *text)
{
	char colour[COLOUR_MAX];

	fprintf(out,
		"<text class=\"k%c\" x=\"%zu%s\" y=\"%zu%s\" font-size=\"%d\" "
		"fill=\"%s\">%s</text>",
		klass, box.x + box.width / 2, box.width % 2 ? ".5" : "", box.y + box.height / 2 + 3,
		box.height % 2 ? ".9" : ".4", box.width >= PICTURE_DECIMALS ? 10 : 9,
		rgb_text(colour, palette_ink(picture_style_ground(klass, false))), text);
}

/* Print the angle with its mark, as far as the cell has room. */
static void print_inscription(FILE *out, const struct picture_grid_side *side, char klass,
			      struct picture_box box)
{
	const double theta = side->theta;
	const char mark = picture_grid_mark(side->figure);
	char text[NUMBER_MAX], all[NUMBER_MAX + 1];

	if (box.width < PICTURE_SIGNS)
		return;
	if (box.width >= PICTURE_DECIMALS)
		snprintf(all, sizeof(all), "%c%s", mark,
			 isnan(theta) ? "    " : picture_number_fixed(text, 4, 1, theta));
	else if (box.width >= PICTURE_WHOLE && mark == ' ')
		snprintf(all, sizeof(all), "%s", picture_number_fixed(text, 2, 0, theta));
	else
		snprintf(all, sizeof(all), "%*c", box.width >= PICTURE_WHOLE ? 2 : 1, mark);
	print_text(out, klass, box, all);
}

/* Print a cell for which one of the two models has no tensor. */
static void print_missing(FILE *out, const char *name, struct picture_box box)
{
	fputs("<title>", out);
	if (name) {
		fputs("not in ", out);
		picture_text_print(out, name);
	} else {
		fputs("not in both", out);
	}
	fputs("</title>", out);
	print_rect(out, (struct picture_box){ box.x + 1, box.y + 1,
					      box.width > 2 ? box.width - 2 : 1, box.height - 2 });
	fputs(" class=\"ss\" fill=\"none\" stroke=\"#5a5a5a\" stroke-dasharray=\"2 2\" "
	      "stroke-opacity=\".6\"/>",
	      out);
}

static void print_side(FILE *out, const struct picture_grid *grid,
		       const struct picture_grid_side *side, struct picture_box box)
{
	const char klass = picture_style_class(side->step, side->theta);

	print_tooltip(out, grid, side);
	if (figure_is(side->figure, FIGURE_REMOVED)) {
		print_rect(out, box);
		fputs(" fill=\"url(#removed)\"/>", out);
		return;
	}
	print_ground(out, klass, picture_grid_mark(side->figure) != ' ', box);
	picture_style_changes(out, side->figure, side->donor, box);
	print_inscription(out, side, klass, box);
}

static void print_delta(FILE *out, const struct picture_grid_cell *cell, struct picture_box box)
{
	const char klass = picture_style_class(cell->step, cell->delta);
	char text[NUMBER_MAX];

	fputs("<title>", out);
	picture_text_print(out, cell->sides[0].figure->file);
	fprintf(out, "\nθ of the second less that of the first: %s°</title>",
		picture_number_signed(text, 6, 2, cell->delta));
	print_ground(out, klass, false, box);
	if (box.width >= PICTURE_DECIMALS)
		print_text(out, klass, box, picture_number_signed(text, 5, 1, cell->delta));
	else if (box.width >= PICTURE_WHOLE)
		print_text(out, klass, box, picture_number_signed(text, 3, 0, cell->delta));
}

/* Print the colour of the angle itself, for a tensor that has no row to be compared with. */
static void print_swatch(FILE *out, const struct picture_grid_cell *cell, struct picture_box box)
{
	const double theta = picture_grid_side_of(cell)->theta;
	char colour[COLOUR_MAX];

	box.x -= PICTURE_SWATCH;
	box.width = PICTURE_SWATCH - 2;
	print_rect(out, box);
	fprintf(out, " fill=\"%s\"/>",
		isnan(theta) ? "#bbbbbb" : rgb_text(colour, palette_angle(theta)));
}

void picture_cell_print(FILE *out, const struct picture_layout *layout,
			const struct picture *picture, size_t panel, size_t i)
{
	const struct picture_grid_cell *cell = &layout->grid.cells[i];
	const struct picture_box box = picture_layout_cell(layout, panel, i);

	fputs("<g>", out);
	if (panel == PANEL_DELTA && (!picture_grid_is_there(cell->sides[0].figure) ||
				     !picture_grid_is_there(cell->sides[1].figure)))
		print_missing(out, NULL, box);
	else if (panel == PANEL_DELTA)
		print_delta(out, cell, box);
	else if (!cell->sides[panel].figure)
		print_missing(out, picture->models[panel].name, box);
	else
		print_side(out, &layout->grid, &cell->sides[panel], box);
	if (panel == 0 && i >= layout->grid.in_blocks)
		print_swatch(out, cell, box);
	fputs("</g>\n", out);
}
