/* SPDX-License-Identifier: MIT */
/* picture.c - see picture.h. The parts are picture_layout.c, picture_style.c, picture_legend.c,
 * picture_text.c and picture_cell.c. */
#include "fs/files/picture.h"
#include "fs/files/picture_internal.h"
#include "fs/metadata/json_value.h"
#include "fs/model/model.h"
#include "fs/report/card.h"
#include "fs/report/theta_mean.h"
#include "fs/util/plural.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define INK	 "class=\"i\" fill=\"#1a1a1a\""
#define INK_SOFT "class=\"s\" fill=\"#5a5a5a\""

enum {
	NAME_SIZE = 18,
	SUBTITLE_SIZE = 12,
	MEANS_TEXT = 13,
};

void picture_means(const struct figures *figures, char text[PICTURE_MEANS])
{
	static const char none[] = "no θ is known";
	struct theta_mean all = { 0 };
	char mean[NUMBER_MAX], by_elements[NUMBER_MAX], signal[NUMBER_MAX];
	double n;

	for (size_t i = 0; i < figures->n; i++)
		theta_mean_add(&all, figures->figures[i].z, figures->figures[i].elements);
	n = (double)all.measured;
	snprintf(text, PICTURE_MEANS,
		 "θ mean %s° over %*zu tensors, %s° weighted by elements; signal %s",
		 picture_number_fixed(mean, 5, 2, all.theta / n),
		 snprintf(NULL, 0, "%zu", figures->n), all.measured,
		 picture_number_fixed(by_elements, 5, 2, all.weighted_theta / all.weight),
		 picture_number_fixed(signal, 5, 3, all.signal / n));
	if (all.measured == 0) {
		memset(text, ' ', strlen(text));
		memcpy(text, none, strlen(none));
	}
}

static void print_names(FILE *out, const struct picture *picture)
{
	for (size_t i = 0; i < picture->n; i++) {
		fputs(i ? " and " : "", out);
		picture_text_print(out, picture->models[i].name);
	}
}

static void print_start(FILE *out, const struct picture *picture,
			const struct picture_layout *layout)
{
	char means[PICTURE_MEANS];

	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-labelledby=\"title "
		"desc\" width=\"%zu\" height=\"%zu\" viewBox=\"0 0 %zu %zu\" fill=\"#1a1a1a\" "
		"font-family=\"Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', "
		"sans-serif\">\n<title id=\"title\">θ of ",
		layout->width, layout->height, layout->width, layout->height);
	print_names(out, picture);
	fputs("</title>\n<desc id=\"desc\">The angle θ of every tensor, in degrees from 0 to 90: "
	      "blocks across, the parts that tensors play down, tensors outside the blocks on "
	      "the right. Colour says how far it is from the median of its row, blue below and "
	      "orange above, in units of the row&#39;s spread: 1.4826 times the median distance "
	      "from the median, 1° at least.",
	      out);
	for (size_t i = 0; i < picture->n; i++) {
		picture_means(picture->models[i].figures, means);
		fprintf(out, " %s.", means);
	}
	fprintf(out, "</desc>\n");
	picture_style_print(out);
	fprintf(out, "<rect class=\"p\" width=\"%zu\" height=\"%zu\" fill=\"#ffffff\"/>\n",
		layout->width, layout->height);
}

/* Print a line of text at y, cut at the picture's edge, with the attributes given. */
static void print_line(FILE *out, size_t y, unsigned size, const char *attributes, const char *text,
		       size_t width)
{
	fprintf(out, "<text x=\"%d\" y=\"%zu\" font-size=\"%u\" %s>", PICTURE_MARGIN, y, size,
		attributes);
	picture_text_end(out, text, size, width - 2 * PICTURE_MARGIN);
}

/* Print the lines about each model. Returns the y below them; out NULL: print nothing. */
static size_t print_head(FILE *out, const struct picture *picture, size_t width)
{
	size_t y = PICTURE_MARGIN;
	char means[PICTURE_MEANS];

	for (size_t i = 0; i < picture->n; i++) {
		const struct picture_model *model = &picture->models[i];

		y += NAME_SIZE;
		if (out)
			print_line(out, y, NAME_SIZE, INK " font-weight=\"bold\"", model->name,
				   width);
		if (model->subtitle[0]) {
			y += 20;
			if (out)
				print_line(out, y, SUBTITLE_SIZE, INK_SOFT, model->subtitle, width);
		}
		y += 22;
		picture_means(model->figures, means);
		if (out)
			fprintf(out,
				"<text " INK " x=\"%d\" y=\"%zu\" font-size=\"%d\">%s</text>\n",
				PICTURE_MARGIN, y, MEANS_TEXT, means);
		y += 14;
	}
	return y;
}

static void print_label(FILE *out, size_t x, size_t y, const char *anchor, const char *text,
			size_t width)
{
	fprintf(out, "<text " INK " x=\"%zu\" y=\"%zu\" font-size=\"%d\" text-anchor=\"%s\">", x, y,
		PICTURE_LABEL, anchor);
	picture_text_end(out, text, PICTURE_LABEL, width);
}

static void print_heading(FILE *out, size_t x, size_t y, const char *text, size_t width)
{
	fprintf(out, "<text " INK " x=\"%zu\" y=\"%zu\" font-size=\"12\" font-weight=\"bold\">", x,
		y);
	picture_text_end(out, text, 13, width);
}

/* Print the numbers of the blocks, as many as fit, and the headings in their line. */
static void print_numbers(FILE *out, const struct picture_layout *layout, size_t panel, size_t band)
{
	const struct picture_grid *grid = &layout->grid;
	const size_t step = picture_layout_step(layout), first = band * layout->per_band;
	const struct picture_box box = picture_layout_row(layout, panel, band, 0);
	const size_t y = box.y - 5;

	fprintf(out, "<g " INK_SOFT " font-size=\"%d\" text-anchor=\"middle\">\n", PICTURE_NUMBER);
	fprintf(out, "<text x=\"%zu\" y=\"%zu\">median</text>\n",
		box.x - PICTURE_GAP - PICTURE_MEDIAN / 2, y);
	if (panel == 0 || !layout->across)
		fprintf(out, "<text x=\"%zu\" y=\"%zu\" text-anchor=\"end\">block</text>\n",
			box.x - 2 * PICTURE_GAP - PICTURE_MEDIAN, y);
	for (size_t i = first; i < grid->n_blocks && i < first + layout->per_band; i += step)
		fprintf(out, "<text x=\"%.1f\" y=\"%zu\">%d</text>\n",
			(double)box.x + ((double)(i - first) + 0.5) * (double)layout->cell_width, y,
			grid->blocks[i]);
	fputs("</g>\n", out);
}

/* Print the median of a row on the colour of its angle; a difference has none. */
static void print_median(FILE *out, const struct picture_layout *layout, size_t panel,
			 struct picture_box box, const struct picture_grid_row *row)
{
	const double median =
		panel == PANEL_DELTA ? row->medians[1] - row->medians[0] : row->medians[panel];
	const struct rgb none = { 0xe4, 0xe4, 0xe4 };
	const struct rgb ground = isnan(median) ? none : palette_angle(median);
	const size_t x = box.x - PICTURE_GAP - PICTURE_MEDIAN;
	char colour[COLOUR_MAX], ink[COLOUR_MAX], text[NUMBER_MAX];

	if (panel != PANEL_DELTA)
		fprintf(out, "<rect x=\"%zu\" y=\"%zu\" width=\"%d\" height=\"%zu\" fill=\"%s\"/>",
			x, box.y, PICTURE_MEDIAN, box.height, rgb_text(colour, ground));
	fprintf(out,
		"<text x=\"%zu\" y=\"%zu\" font-size=\"10\" text-anchor=\"middle\" %s "
		"fill=\"%s\">%s</text>\n",
		x + PICTURE_MEDIAN / 2, box.y + layout->cell_height / 2 + 3,
		panel == PANEL_DELTA ? "class=\"i\"" : "",
		panel == PANEL_DELTA ? "#1a1a1a" : rgb_text(ink, palette_ink(ground)),
		panel == PANEL_DELTA ? picture_number_signed(text, 5, 1, median)
				     : picture_number_fixed(text, 4, 1, median));
}

static void print_panel(FILE *out, const struct picture_layout *layout,
			const struct picture *picture, size_t panel, size_t band)
{
	const struct picture_grid *grid = &layout->grid;
	const size_t left = grid->n_blocks - band * layout->per_band;
	const size_t columns = left < layout->per_band ? left : layout->per_band;
	const bool labels = panel == 0 || !layout->across;
	struct picture_box box = picture_layout_row(layout, panel, band, 0);

	if (layout->panels > 1)
		print_heading(out, box.x - PICTURE_GAP - PICTURE_MEDIAN, box.y - 22,
			      panel == PANEL_DELTA ? "difference (second − first)"
						   : picture->models[panel].name,
			      layout->panel_width);
	print_numbers(out, layout, panel, band);
	for (size_t i = 0; i < grid->n_rows; i++) {
		box = picture_layout_row(layout, panel, band, i);
		if (labels)
			print_label(out, layout->grid_x - PICTURE_GAP,
				    box.y + layout->cell_height / 2 + 3, "end", grid->rows[i].role,
				    layout->label_width);
		print_median(out, layout, panel, box, &grid->rows[i]);
		fprintf(out,
			"<rect class=\"b\" x=\"%zu\" y=\"%zu\" width=\"%zu\" height=\"%zu\" "
			"fill=\"#fafafa\"/>\n",
			box.x, box.y, columns * layout->cell_width - 1, box.height);
	}
}

static void print_outside(FILE *out, const struct picture_layout *layout)
{
	const struct picture_grid *grid = &layout->grid;

	if (grid->in_blocks == grid->n)
		return;
	print_heading(out, layout->side_x, layout->side_y - 6, "outside the blocks",
		      layout->side_step);
	for (size_t i = grid->in_blocks; i < grid->n; i++) {
		const struct picture_box box = picture_layout_cell(layout, layout->panels - 1, i);
		const struct picture_grid_cell *cell = &grid->cells[i];

		print_label(out, box.x + PICTURE_SIDE_CELL + PICTURE_GAP,
			    box.y + layout->cell_height / 2 + 3, "start",
			    picture_grid_side_of(cell)->figure->role, layout->side_width);
	}
}

static void print_all(FILE *out, const struct picture_layout *layout, const struct picture *picture,
		      size_t legend)
{
	print_start(out, picture, layout);
	print_head(out, picture, layout->width);
	picture_legend_print(out, &layout->grid, legend);
	for (size_t band = 0; band < layout->bands; band++)
		for (size_t panel = 0; panel < layout->panels; panel++)
			print_panel(out, layout, picture, panel, band);
	print_outside(out, layout);
	fputs("<g text-anchor=\"middle\">\n", out);
	for (size_t i = 0; i < layout->grid.n; i++)
		for (size_t panel = 0; panel < layout->panels; panel++)
			picture_cell_print(out, layout, picture, panel, i);
	fputs("</g>\n</svg>\n", out);
}

int picture_draw(const struct picture *picture, FILE *out)
{
	const size_t legend = print_head(NULL, picture, 0);
	struct picture_layout layout;
	int rc = picture_layout_make(&layout, picture, legend);

	if (rc == 0) {
		print_all(out, &layout, picture, legend);
		rc = ferror(out) ? -ENOMEM : 0;
	}
	picture_layout_free(&layout);
	return rc;
}

void picture_subtitle(const struct figures *figures, const struct picture_grid *grid,
		      char text[PICTURE_SUBTITLE])
{
	struct card card;
	char blocks[96];
	size_t n_blocks;

	card_get(figures, &card);
	n_blocks = picture_grid_blocks_text(grid, blocks, sizeof(blocks));
	snprintf(text, PICTURE_SUBTITLE, "%s, %s%s%s%zu tensor%s", card.architecture,
		 n_blocks == 0	 ? ""
		 : n_blocks == 1 ? "block "
				 : "blocks ",
		 blocks, blocks[0] ? ", " : "", figures->n, plural(figures->n));
}

/* Describe a model. *name, in UTF-8, is to be deleted even on failure. Returns 0 or -ENOMEM. */
static int describe(const struct figures *figures, cJSON **name, char subtitle[PICTURE_SUBTITLE],
		    struct picture_model *model)
{
	const char *file = figures->model->name;
	struct picture_grid grid;
	const int rc = picture_grid_make(&grid, figures, NULL);

	*name = json_text(file, strlen(file));
	if (rc == 0)
		picture_subtitle(figures, &grid, subtitle);
	picture_grid_free(&grid);
	*model = (struct picture_model){ cJSON_GetStringValue(*name), subtitle, figures };
	return rc < 0 || !model->name ? -ENOMEM : 0;
}

int picture_print_two(const struct figures *firsts, const struct figures *seconds, FILE *out)
{
	char subtitles[2][PICTURE_SUBTITLE];
	cJSON *names[2] = { NULL, NULL };
	struct picture picture = { .n = seconds ? 2 : 1 };
	int rc = describe(firsts, &names[0], subtitles[0], &picture.models[0]);

	if (rc == 0 && seconds)
		rc = describe(seconds, &names[1], subtitles[1], &picture.models[1]);
	if (rc == 0)
		rc = picture_draw(&picture, out);
	cJSON_Delete(names[0]);
	cJSON_Delete(names[1]);
	return rc;
}

int picture_print(const struct figures *figures, FILE *out)
{
	return picture_print_two(figures, NULL, out);
}
