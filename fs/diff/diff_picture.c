/* SPDX-License-Identifier: MIT */
/* diff_picture.c - see diff_picture.h. Measured numbers have a fixed width, and so has the
 * picture. */
#include "fs/diff/diff_picture.h"
#include "fs/diff/diff.h"
#include "fs/diff/diff_side.h"
#include "fs/diff/diff_table.h"
#include "fs/lazy/whole_text.h"
#include "fs/tensor/tensor_difference.h"
#include "fs/util/halt.h"
#include "fs/util/text_escape.h"
#include "gguf/anatomy.h"
#include "gguf/arena.h"
#include "gguf/names.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Pixels of a cell with its gap, of the line above the cells, of a letter. */
#define CELL   18
#define TOP    48
#define LETTER 7

/* Characters percent-encoded in names, as are bytes that are not ASCII, so that XML sees plain
 * text. */
#define XML_ENCODED "&<>\"'%\x80"

struct diff_grid {
	struct diff *diff; /* owns a reference */
	struct arena *arena;
	struct names *roles;
	size_t n; /* rows */
	const char **names;
	uint32_t *rows;	  /* row of each pair */
	uint32_t columns; /* the first one is for tensors without a block */
	int left;	  /* pixels before the first column */
};

/* Set the row of a tensor by its role. False: out of memory. */
static bool add_to_grid(struct diff_grid *grid, size_t i)
{
	const struct diff_tensor *tensor = diff_pair_any(&grid->diff->pairs[i]);
	char role[ANATOMY_NAME_MAX + 1];
	size_t length;
	const char *name;

	if (tensor->block >= 0 && tensor->block < DIFF_PICTURE_BLOCKS &&
	    (uint32_t)tensor->block + 2 > grid->columns)
		grid->columns = (uint32_t)tensor->block + 2;
	anatomy_role(tensor->at.organ.name, tensor->at.organ.name_length, role);
	length = strlen(role);
	if (names_find(grid->roles, role, length, &grid->rows[i]))
		return true;
	name = arena_copy(grid->arena, role, length);
	grid->rows[i] = (uint32_t)grid->n;
	if (!name || names_add(grid->roles, name, length, grid->rows[i]) < 0)
		return false;
	grid->names[grid->n++] = name;
	if ((int)length * LETTER + 12 > grid->left)
		grid->left = (int)length * LETTER + 12;
	return true;
}

static void release(void *context)
{
	struct diff_grid *grid = context;

	diff_unref(grid->diff);
	names_free(grid->roles);
	arena_free(grid->arena);
	free(grid->names);
	free(grid->rows);
	free(grid);
}

static struct diff_grid *new_grid(struct diff *diff)
{
	struct diff_grid *grid = calloc(1, sizeof(*grid));
	bool well;

	if (!grid)
		return NULL;
	grid->diff = diff_ref(diff);
	grid->columns = 1;
	grid->arena = arena_new();
	grid->roles = names_new(64);
	grid->names = calloc(diff->n + 1, sizeof(*grid->names));
	grid->rows = calloc(diff->n + 1, sizeof(*grid->rows));
	well = grid->arena && grid->roles && grid->names && grid->rows;
	for (size_t i = 0; well && i < diff->n; i++)
		well = add_to_grid(grid, i);
	if (well)
		return grid;
	release(grid);
	return NULL;
}

/* From pale for 0.0001 to dark for 1 and more, on a logarithmic scale. */
static void colour_of(double relative, char colour[8])
{
	static const double stops[3][3] = { { 255, 245, 200 }, { 245, 130, 50 }, { 110, 0, 40 } };
	const double t = fmin(fmax((log10(fmax(relative, 1e-9)) + 4) / 2, 0), 2);
	const int from = t < 1 ? 0 : 1;
	unsigned rgb[3];

	for (int i = 0; i < 3; i++)
		rgb[i] = (unsigned)lrint(stops[from][i] +
					 (t - from) * (stops[from + 1][i] - stops[from][i]));
	snprintf(colour, 8, "#%02x%02x%02x", rgb[0] & 255, rgb[1] & 255, rgb[2] & 255);
}

/* Grey is unknown, blue is equal. */
static void fill_of(const struct tensor_difference *d, char colour[8])
{
	if (!d || isnan(d->relative))
		strcpy(colour, "#999999");
	else if (d->relative == 0)
		strcpy(colour, "#bcd4e6");
	else
		colour_of(d->relative, colour);
}

static void print_cell(const struct diff_grid *grid, size_t i, bool measured, FILE *out)
{
	const struct diff_pair *pair = &grid->diff->pairs[i];
	const struct tensor_difference *d = measured ? diff_result(grid->diff, i) : NULL;
	const struct diff_tensor *tensor = diff_pair_any(pair);
	const uint32_t column = tensor->block < 0 ? 0 : (uint32_t)tensor->block + 1;
	char colour[8] = "none";

	if (column >= grid->columns)
		return;
	if (diff_pair_is_comparable(pair))
		fill_of(d, colour);
	fprintf(out,
		"<rect x=\"%" PRIu32 "\" y=\"%" PRIu32
		"\" width=\"%d\" height=\"%d\" fill=\"%s\"%s><title>",
		(uint32_t)grid->left + column * CELL, TOP + grid->rows[i] * CELL, CELL - 2,
		CELL - 2, colour,
		diff_pair_is_comparable(pair) ? "" : " stroke=\"#2a6fb0\" stroke-width=\"2\"");
	text_escape_print(tensor->at.organ.name, tensor->at.organ.name_length, XML_ENCODED, out);
	if (diff_pair_is_comparable(pair))
		fprintf(out, ": %12.6g", diff_table_number(d ? d->relative : NAN));
	else
		fprintf(out, ": %s",
			!pair->there ? "only here"
			: pair->here ? "another shape"
				     : "only there");
	fputs("</title></rect>\n", out);
}

/* Print the legend of the colours below the cells. */
static void print_legend(const struct diff_grid *grid, FILE *out)
{
	static const double steps[] = { 1e-4, 1e-3, 1e-2, 1e-1, 1 };
	const size_t y = TOP + grid->n * CELL + 12;
	char colour[8];

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		colour_of(steps[i], colour);
		fprintf(out,
			"<rect x=\"%zu\" y=\"%zu\" width=\"16\" height=\"16\" fill=\"%s\"/>"
			"<text x=\"%zu\" y=\"%zu\">%g</text>\n",
			12 + i * 70, y, colour, 32 + i * 70, y + 12, steps[i]);
	}
	fprintf(out,
		"<text x=\"12\" y=\"%zu\">The length of the difference relative to here. Blue: the "
		"same; outlined: in one model only, or of another shape; grey: unknown.</text>\n",
		y + 34);
}

static void print_frame(const struct diff_grid *grid, FILE *out)
{
	const size_t wide = (size_t)grid->left + grid->columns * CELL + 12;

	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%zu\" height=\"%zu\" "
		"font-family=\"sans-serif\" font-size=\"11\" fill=\"#555\">\n<title>",
		wide < 800 ? 800 : wide, TOP + grid->n * CELL + 60);
	text_escape_print(grid->diff->here->name, strlen(grid->diff->here->name), XML_ENCODED, out);
	fputs(" beside ", out);
	text_escape_print(grid->diff->there->name, strlen(grid->diff->there->name), XML_ENCODED,
			  out);
	fputs("</title>\n<style>text{fill:#555}@media(prefers-color-scheme:dark)"
	      "{text{fill:#ccc}}</style>\n",
	      out);
	for (uint32_t i = 1; i<grid->columns; i += grid->columns> 40 ? 5 : 1)
		fprintf(out, "<text x=\"%" PRIu32 "\" y=\"%d\">%" PRIu32 "</text>\n",
			(uint32_t)grid->left + i * CELL + 2, TOP - 6, i - 1);
	for (size_t i = 0; i < grid->n; i++)
		fprintf(out, "<text x=\"8\" y=\"%zu\">%s</text>\n", TOP + i * CELL + 12,
			grid->names[i]);
}

static int print(void *context, const struct halt *halt, FILE *out)
{
	const struct diff_grid *grid = context;
	const int rc = halt ? diff_measure(grid->diff, 0, grid->diff->n, halt->reader) : 0;

	if (rc < 0)
		return rc;
	print_frame(grid, out);
	for (size_t i = 0; i < grid->diff->n; i++)
		print_cell(grid, i, halt != NULL, out);
	print_legend(grid, out);
	fputs("</svg>\n", out);
	return 0;
}

struct view *diff_picture_view(struct diff *diff)
{
	static const struct whole_text_ops ops = { print, release };
	struct diff_grid *grid = new_grid(diff);

	return grid ? whole_text_view(whole_text_new(&ops, grid, NULL)) : NULL;
}
