/* SPDX-License-Identifier: MIT */
/* picture.c - see picture.h. The parts are picture_layout.c, picture_text.c and picture_cell.c. */
#include "fs/picture.h"
#include "fs/picture_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#define INK	   "#1a1a1a"
#define INK_SOFT   "#5a5a5a"
#define BAND	   "#f6f6f6"
#define MEANS_SIZE 160

enum {
	NAME_SIZE = 18,
	SUBTITLE_SIZE = 12,
	BAR_X = 44,
	BAR_WIDTH = 270,
	LEGEND_HEIGHT = 44,
};

/* "θ mean 45.98° over 290 tensors, ...", the same number of bytes for any values. */
static void write_means(const struct picture *picture, char text[MEANS_SIZE])
{
	static const char none[] = "no θ is known";
	double theta = 0, signal = 0, weighted = 0, weight = 0;
	size_t n = 0, signals = 0;
	char mean[NUMBER_MAX], by_elements[NUMBER_MAX], mean_signal[NUMBER_MAX];

	for (size_t i = 0; i < picture->n; i++) {
		const struct figure *figure = &picture->figures[i];

		if (!figure->z)
			continue;
		if (isfinite(figure->z->theta)) {
			theta += figure->z->theta;
			weighted += figure->z->theta * (double)figure->elements;
			weight += (double)figure->elements;
			n++;
		}
		if (isfinite(figure->z->signal)) {
			signal += figure->z->signal;
			signals++;
		}
	}
	snprintf(text, MEANS_SIZE,
		 "θ mean %s° over %*zu tensors, %s° weighted by elements; signal %s",
		 number_fixed(mean, 5, 2, theta / (double)n), snprintf(NULL, 0, "%zu", picture->n),
		 n, number_fixed(by_elements, 5, 2, weighted / weight),
		 number_fixed(mean_signal, 5, 3, signal / (double)signals));
	if (n == 0) {
		memset(text, ' ', strlen(text));
		memcpy(text, none, strlen(none));
	}
}

static void print_start(FILE *out, const struct picture *picture, const struct layout *layout,
			const char *means)
{
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" "
		"aria-labelledby=\"title desc\" width=\"%" PRIu64 "\" height=\"%" PRIu64
		"\" viewBox=\"0 0 %" PRIu64 " %" PRIu64 "\" fill=\"" INK "\" "
		"font-family=\"Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', "
		"sans-serif\">\n<title id=\"title\">θ of ",
		layout->width, layout->height, layout->width, layout->height);
	text_print(out, picture->name);
	fprintf(out,
		"</title>\n<desc id=\"desc\">The angle θ of every tensor, in degrees from 0 to 90, "
		"as a coloured cell: blocks across, roles down, tensors outside the blocks on the "
		"right. %s.</desc>\n<rect width=\"%" PRIu64 "\" height=\"%" PRIu64
		"\" fill=\"#ffffff\"/>\n",
		means, layout->width, layout->height);
}

static void print_line(FILE *out, uint64_t y, unsigned size, const char *attributes,
		       const char *text, uint64_t width)
{
	fprintf(out, "<text x=\"%d\" y=\"%" PRIu64 "\" font-size=\"%u\"%s>", PICTURE_MARGIN, y,
		size, attributes);
	text_print_cut(out, text, size, width - 2 * PICTURE_MARGIN);
	fputs("</text>\n", out);
}

static void print_scale(FILE *out, uint64_t y)
{
	char colour[COLOUR_MAX];

	fputs("<defs><linearGradient id=\"scale\">", out);
	for (int i = 0; i < COLOUR_STOPS; i++)
		fprintf(out, "<stop offset=\"%.4f\" stop-color=\"%s\"/>", i / (COLOUR_STOPS - 1.0),
			colour_of(colour, 90.0 * i / (COLOUR_STOPS - 1)));
	fprintf(out,
		"</linearGradient></defs>\n<text x=\"%d\" y=\"%" PRIu64 "\" font-size=\"13\">θ"
		"</text>\n<rect x=\"%d\" y=\"%" PRIu64 "\" width=\"%d\" height=\"12\" "
		"fill=\"url(#scale)\"/>\n<g font-size=\"%d\" text-anchor=\"middle\" "
		"fill=\"" INK_SOFT "\">\n",
		PICTURE_MARGIN, y + 11, BAR_X, y, BAR_WIDTH, PICTURE_NUMBER);
	for (int degrees = 0; degrees <= 90; degrees += 15) {
		const int x = BAR_X + BAR_WIDTH * degrees / 90;

		fprintf(out,
			"<path d=\"M%d %" PRIu64 "v4\" stroke=\"" INK_SOFT "\"/><text x=\"%d\" "
			"y=\"%" PRIu64 "\">%d°</text>\n",
			x, y + 12, x, y + 27, degrees);
	}
	fputs("</g>\n", out);
}

/* What the signs in cells mean, beside the scale. */
static void print_marks(FILE *out, uint64_t y)
{
	static const char text[] = "= constant  ·  z zero  ·  s short  ·  ^ spike  ·  "
				   "! nonfinite  ·  - no values";

	fprintf(out,
		"<rect x=\"%d\" y=\"%" PRIu64 "\" width=\"18\" height=\"12\" fill=\"#eeeeee\" "
		"stroke=\"#666\"/>\n<text x=\"%d\" y=\"%" PRIu64
		"\" font-size=\"%d\" fill=\"" INK_SOFT "\">%s</text>\n",
		BAR_X + BAR_WIDTH + 40, y, BAR_X + BAR_WIDTH + 66, y + 10, PICTURE_LABEL, text);
}

/* The numbers of the blocks, as many as there is room for. */
static void print_numbers(FILE *out, const struct layout *layout, uint64_t y)
{
	const size_t step = layout_step(layout);

	fprintf(out,
		"<text x=\"%d\" y=\"%" PRIu64 "\" font-size=\"%d\" fill=\"" INK_SOFT "\">block"
		"</text>\n<g font-size=\"%d\" text-anchor=\"middle\" fill=\"" INK_SOFT "\">\n",
		PICTURE_MARGIN, y, PICTURE_NUMBER, PICTURE_NUMBER);
	for (size_t i = 0; i < layout->n_blocks; i += step)
		fprintf(out, "<text x=\"%.1f\" y=\"%" PRIu64 "\">%d</text>\n",
			(double)layout->grid_x + ((double)i + 0.5) * (double)layout->cell_width, y,
			layout->blocks[i]);
	fputs("</g>\n", out);
}

static void print_heading(FILE *out, uint64_t x, uint64_t y, const char *text)
{
	fprintf(out,
		"<text x=\"%" PRIu64 "\" y=\"%" PRIu64 "\" font-size=\"12\" font-weight=\"bold\">%s"
		"</text>\n",
		x, y, text);
}

static void print_label(FILE *out, uint64_t x, uint64_t y, const char *anchor, const char *text,
			uint64_t width)
{
	fprintf(out,
		"<text x=\"%" PRIu64 "\" y=\"%" PRIu64 "\" font-size=\"%d\" text-anchor=\"%s\">", x,
		y, PICTURE_LABEL, anchor);
	text_print_cut(out, text, PICTURE_LABEL, width);
	fputs("</text>\n", out);
}

static void print_rows(FILE *out, const struct layout *layout)
{
	const uint64_t bottom = layout->cell_height / 2 + 4;

	for (size_t i = 0; i < layout->n_rows; i++) {
		const struct row *row = &layout->rows[i];

		if (row->heading)
			print_heading(out, PICTURE_MARGIN, row->y - 6,
				      class_name(row->figure->klass));
		print_label(out, layout->grid_x - PICTURE_GAP, row->y + bottom - 1, "end",
			    row->figure->role, layout->label_width);
		fprintf(out,
			"<rect x=\"%" PRIu64 "\" y=\"%" PRIu64 "\" width=\"%" PRIu64
			"\" height=\"%" PRIu64 "\" fill=\"" BAND "\"/>\n",
			layout->grid_x, row->y, layout->n_blocks * layout->cell_width - 1,
			layout->cell_height - 1);
	}
}

static void print_side(FILE *out, const struct layout *layout)
{
	const uint64_t bottom = layout->cell_height / 2 + 3;

	if (layout->in_blocks == layout->n)
		return;
	print_heading(out, layout->side_x, layout->grid_y + 16, "outside the blocks");
	for (size_t i = layout->in_blocks; i < layout->n; i++) {
		const struct cell *cell = &layout->cells[i];

		print_label(out, cell->x + PICTURE_SIDE_CELL + PICTURE_GAP, cell->y + bottom,
			    "start", cell->figure->role, layout->side_width);
	}
}

static void print_cells(FILE *out, const struct layout *layout)
{
	/* A line of the background between cells that are not too small for it. */
	const uint64_t line = layout->cell_width > 3;

	fputs("<g text-anchor=\"middle\">\n", out);
	for (size_t i = 0; i < layout->n; i++)
		cell_print(out, &layout->cells[i],
			   i < layout->in_blocks ? layout->cell_width - line : PICTURE_SIDE_CELL,
			   layout->cell_height - 1);
	fputs("</g>\n", out);
}

int picture_print(const struct picture *picture, FILE *out)
{
	const uint64_t subtitle = picture->subtitle[0] ? 20 : 0;
	struct layout layout;
	char means[MEANS_SIZE];
	int rc = layout_make(&layout, picture, 84 + subtitle + LEGEND_HEIGHT);

	if (rc == 0) {
		write_means(picture, means);
		print_start(out, picture, &layout, means);
		print_line(out, 38, NAME_SIZE, " font-weight=\"bold\"", picture->name,
			   layout.width);
		if (subtitle)
			print_line(out, 58, SUBTITLE_SIZE, " fill=\"" INK_SOFT "\"",
				   picture->subtitle, layout.width);
		fprintf(out, "<text x=\"%d\" y=\"%" PRIu64 "\" font-size=\"13\">%s</text>\n",
			PICTURE_MARGIN, 60 + subtitle, means);
		print_scale(out, 78 + subtitle);
		print_marks(out, 78 + subtitle);
		if (layout.n_blocks)
			print_numbers(out, &layout, layout.grid_y - 4);
		if (layout.numbers_y)
			print_numbers(out, &layout, layout.numbers_y);
		print_rows(out, &layout);
		print_side(out, &layout);
		print_cells(out, &layout);
		fputs("</svg>\n", out);
		rc = ferror(out) ? -ENOMEM : 0;
	}
	layout_free(&layout);
	return rc;
}
