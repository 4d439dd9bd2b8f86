/* SPDX-License-Identifier: MIT */
/* picture_legend.c - the meaning of colours and marks. Changes are known before the tensors are
 * measured, so the legend has only those that occur. Marks of measures always take the same
 * room. */
#include "fs/files/picture_internal.h"
#include "fs/util/plural.h"

#include <limits.h>
#include <string.h>

enum {
	STEP = 16, /* width of a step in its bar */
	STEPS_X = PICTURE_MARGIN,
	STEPS_WIDTH = STEP * (2 * GRID_STEPS + 1),
	BAR_GAP = 36,
	ANGLE_WIDTH = 216,
	BAR_HEIGHT = 12,
	BARS = 54,  /* height of the bars with their texts */
	LINE = 20,  /* height of a line of marks */
	MARK = 16,  /* width of a mark */
	SIGNS = 16, /* height of the line of signs */
	AFTER = 8,
};

/* Place of the next mark; out NULL: only count the lines. */
struct flow {
	FILE *out;
	size_t x, y;
};

static void print_caption(FILE *out, size_t x, size_t y, unsigned size, const char *anchor,
			  const char *text)
{
	fprintf(out,
		"<text class=\"s\" x=\"%zu\" y=\"%zu\" font-size=\"%u\" text-anchor=\"%s\" "
		"fill=\"#5a5a5a\">%s</text>\n",
		x, y, size, anchor, text);
}

/* Print the steps with the labels of the first, middle and last one. */
static void print_steps(FILE *out, size_t x, size_t y, const char *caption,
			const char *const ticks[3])
{
	char colour[COLOUR_MAX];

	print_caption(out, x, y, PICTURE_LABEL, "start", caption);
	for (int step = -GRID_STEPS; step <= GRID_STEPS; step++) {
		const char klass = picture_style_class(step, 0.0);

		fprintf(out,
			"<rect class=\"c%c\" x=\"%zu\" y=\"%zu\" width=\"%d\" height=\"%d\" "
			"fill=\"%s\"/>",
			klass, x + (size_t)(step + GRID_STEPS) * STEP, y + 6, STEP, BAR_HEIGHT,
			rgb_text(colour, picture_style_ground(klass, false)));
	}
	fputs("\n", out);
	print_caption(out, x, y + 30, PICTURE_NUMBER, "start", ticks[0]);
	print_caption(out, x + STEPS_WIDTH / 2, y + 30, PICTURE_NUMBER, "middle", ticks[1]);
	print_caption(out, x + STEPS_WIDTH, y + 30, PICTURE_NUMBER, "end", ticks[2]);
}

static void print_angles(FILE *out, size_t x, size_t y)
{
	char text[16];

	print_caption(out, x, y, PICTURE_LABEL, "start",
		      "θ itself, of a row&#39;s median and outside the blocks");
	fprintf(out,
		"<rect x=\"%zu\" y=\"%zu\" width=\"%d\" height=\"%d\" fill=\"url(#angle)\"/>\n", x,
		y + 6, ANGLE_WIDTH, BAR_HEIGHT);
	for (unsigned degrees = 0; degrees <= 90; degrees += 15) {
		snprintf(text, sizeof(text), "%u°", degrees);
		print_caption(out, x + ANGLE_WIDTH * degrees / 90, y + 30, PICTURE_NUMBER, "middle",
			      text);
	}
}

/* Print a mark and its text, on the next line if this one is full. */
static void flow_mark(struct flow *flow, const struct figure *figure, size_t donor,
		      const char *text)
{
	const size_t width = picture_text_width(text, PICTURE_LABEL) + MARK + 24;
	const struct picture_box box = { flow->x, flow->y, MARK, 13 };

	if (flow->x > PICTURE_MARGIN && flow->x + width > PICTURE_WIDTH_MIN) {
		flow->x = PICTURE_MARGIN;
		flow->y += LINE;
		flow_mark(flow, figure, donor, text);
		return;
	}
	flow->x += width;
	if (!flow->out)
		return;
	fprintf(flow->out, "<rect x=\"%zu\" y=\"%zu\" width=\"%d\" height=\"13\" %s/>", box.x,
		box.y, MARK,
		figure_is(figure, FIGURE_REMOVED) ? "fill=\"url(#removed)\""
						  : "class=\"c6\" fill=\"#f1f1f1\"");
	picture_style_changes(flow->out, figure, donor, box);
	fprintf(flow->out,
		"<text class=\"i\" x=\"%zu\" y=\"%zu\" font-size=\"%d\" fill=\"#1a1a1a\">",
		box.x + MARK + 6, box.y + 11, PICTURE_LABEL);
	picture_text_end(flow->out, text, PICTURE_LABEL,
			 PICTURE_WIDTH_MIN - 2 * PICTURE_MARGIN - MARK);
}

static void flow_donors(struct flow *flow, const struct picture_grid *grid)
{
	const struct figure graft = { .changes = 1u << FIGURE_GRAFTED };
	const size_t own = grid->n_donors < PALETTE_DONORS ? grid->n_donors : PALETTE_DONORS - 1;
	size_t others = 0;
	char text[PATH_MAX + 64];

	for (size_t i = 0; i < own; i++) {
		const struct picture_grid_donor *donor = &grid->donors[i];

		snprintf(text, sizeof(text), "%zu cell%s from %s", donor->cells,
			 plural(donor->cells), donor->label);
		flow_mark(flow, &graft, i, text);
	}
	for (size_t i = own; i < grid->n_donors; i++)
		others += grid->donors[i].cells;
	if (others) {
		snprintf(text, sizeof(text), "%zu cell%s from %zu other donor%s", others,
			 plural(others), grid->n_donors - own, plural(grid->n_donors - own));
		flow_mark(flow, &graft, own, text);
	}
}

static void flow_changes(struct flow *flow, const struct picture_grid *grid)
{
	static const char *const words[FIGURE_CHANGES] = {
		[FIGURE_REMOVED] = "removed",
		[FIGURE_ADDED] = "added",
		[FIGURE_CONVERTED] = "of another type than the base",
		[FIGURE_MERGED] = "merged with adapters",
	};
	char text[64];

	flow_donors(flow, grid);
	if (grid->unknown) {
		snprintf(text, sizeof(text), "%zu from an unknown donor", grid->unknown);
		flow_mark(flow, &(struct figure){ .changes = 1u << FIGURE_GRAFTED }, GRID_NO_DONOR,
			  text);
	}
	for (unsigned change = 0; change < FIGURE_CHANGES; change++) {
		if (!grid->changes[change] || !words[change])
			continue;
		snprintf(text, sizeof(text), "%zu %s", grid->changes[change], words[change]);
		flow_mark(flow, &(struct figure){ .changes = 1u << change }, GRID_NO_DONOR, text);
	}
}

/* Height of the lines of marks. */
static size_t marks_height(const struct picture_grid *grid)
{
	struct flow flow = { NULL, PICTURE_MARGIN, 0 };

	flow_changes(&flow, grid);
	return flow.y + (flow.x > PICTURE_MARGIN ? LINE : 0);
}

size_t picture_legend_height(const struct picture_grid *grid)
{
	return BARS + marks_height(grid) + SIGNS + AFTER;
}

/* Print the marks of measures that occur, padded to the length of all. */
static void print_signs(FILE *out, const struct picture_grid *grid, size_t y)
{
	static const char all[] = GRID_MARKS;
	char text[160] = "", whole[160] = "";
	bool occurs[sizeof(all)] = { false };

	for (size_t i = 0; i < grid->n * grid->n_sides; i++) {
		const struct figure *figure =
			grid->cells[i / grid->n_sides].sides[i % grid->n_sides].figure;
		const char *sign = picture_grid_is_there(figure)
					   ? strchr(all, picture_grid_mark(figure))
					   : NULL;

		if (sign)
			occurs[sign - all] = true;
	}
	for (size_t i = 0; all[i]; i++) {
		char one[32];

		snprintf(one, sizeof(one), "%c %s     ", all[i], picture_grid_mark_name(all[i]));
		strcat(whole, one);
		if (occurs[i])
			strcat(text, one);
	}
	fprintf(out,
		"<text class=\"s\" x=\"%d\" y=\"%zu\" font-size=\"%d\" fill=\"#5a5a5a\" "
		"xml:space=\"preserve\">%-*s</text>\n",
		PICTURE_MARGIN, y, PICTURE_LABEL, (int)strlen(whole), text);
}

void picture_legend_print(FILE *out, const struct picture_grid *grid, size_t y)
{
	static const char *const spreads[] = { "−3 spreads", "median", "+3" };
	size_t x = STEPS_X + STEPS_WIDTH + BAR_GAP;
	struct flow flow = { out, PICTURE_MARGIN, y + BARS };
	char low[32], high[32], number[NUMBER_MAX];
	const char *const degrees[] = { low, "0°", high };

	print_steps(out, STEPS_X, y + 10, "colour: how far from the row&#39;s median", spreads);
	if (grid->n_sides > 1) {
		snprintf(low, sizeof(low), "%s°",
			 picture_number_signed(number, 3, 0, -grid->delta_full));
		snprintf(high, sizeof(high), "%s°",
			 picture_number_signed(number, 3, 0, grid->delta_full));
		print_steps(out, x, y + 10, "of the difference: degrees", degrees);
		x += STEPS_WIDTH + BAR_GAP;
	}
	print_angles(out, x, y + 10);
	flow_changes(&flow, grid);
	print_signs(out, grid, y + BARS + marks_height(grid) + 10);
}
