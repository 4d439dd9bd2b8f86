/* SPDX-License-Identifier: MIT */
/* terminal_picture.c - see terminal_picture.h; terminal_picture_notes.c prints the text below the
 * cells. Cells are as wide as fits. If the blocks do not fit side by side, they are printed in
 * bands, one below the other. */
#include "fs/commands/terminal_picture.h"
#include "fs/commands/terminal_picture_internal.h"
#include "fs/commands/terminal_text.h"
#include "fs/files/picture.h"
#include "fs/files/picture_grid.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LABEL_MAX 24
#define MEDIAN	  7 /* columns of a row's median, with the blanks around it */

struct sheet_of_cells {
	const struct picture_grid *grid;
	const struct terminal *terminal;
	FILE *out;
	enum terminal_picture_form form;
	size_t label, band; /* columns of the names; blocks per band */
};

char terminal_picture_letter(size_t donor)
{
	return donor < 26 ? (char)('a' + donor) : '?';
}

const char *terminal_picture_glyph(const struct terminal *terminal, int step)
{
	static const char *const blocks[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇" };
	static const char *const digits[] = { "1", "2", "3", "-", "5", "6", "7" };

	if (step == GRID_NONE)
		return ".";
	return (terminal->utf8 ? blocks : digits)[step / 2 + 3];
}

/* Find the two marks of a cell, or blanks: the letter of the donor, a capital if the type differs
 * from the base's; '+' for an added tensor, '&' for one merged with adapters. */
static void find_marks(const struct picture_grid_side *side, char marks[3])
{
	const struct figure *figure = side->figure;
	size_t n = 0;

	memcpy(marks, "  ", 3);
	if (figure_is(figure, FIGURE_GRAFTED)) {
		marks[n] = terminal_picture_letter(side->donor);
		if (figure_is(figure, FIGURE_CONVERTED) && marks[n] != '?')
			marks[n] = (char)(marks[n] - 'a' + 'A');
		n++;
	}
	if (figure_is(figure, FIGURE_ADDED))
		marks[n++] = '+';
	if (figure_is(figure, FIGURE_MERGED) && n < 2)
		marks[n] = '&';
}

/* The text of a cell without its colour. */
static void print_inscription(const struct sheet_of_cells *sheet,
			      const struct picture_grid_side *side, enum terminal_picture_form form)
{
	const char sign = picture_grid_mark(side->figure);
	char marks[3];
	FILE *out = sheet->out;

	find_marks(side, marks);
	/* With room for only one mark, print the rarer one. */
	if (form != FORM_WIDE && marks[1] != ' ')
		marks[0] = marks[1];
	if (form == FORM_WIDE && isnan(side->theta))
		fprintf(out, "%4c%c%s", sign, ' ', marks);
	else if (form == FORM_WIDE)
		fprintf(out, "%c%4.1f%s", sign, side->theta, marks);
	else if (form == FORM_NARROW && sign == ' ')
		fprintf(out, "%2.0f%c", side->theta, marks[0]);
	else if (form == FORM_NARROW)
		fprintf(out, "%2c%c", sign, marks[0]);
	else if (marks[0] != ' ' || sign != ' ')
		fputc(marks[0] != ' ' ? marks[0] : sign, out);
	else
		fputs(sheet->terminal->colours == COLOURS_NONE
			      ? terminal_picture_glyph(sheet->terminal, side->step)
			      : " ",
		      out);
}

static void print_cell(const struct sheet_of_cells *sheet, const struct picture_grid_side *side,
		       enum terminal_picture_form form)
{
	const struct terminal *terminal = sheet->terminal;
	const bool coloured = side->step != GRID_NONE && side->step != 0;

	if (figure_is(side->figure, FIGURE_REMOVED)) {
		fputs(form == FORM_WIDE	    ? " ////  "
		      : form == FORM_NARROW ? "// "
					    : "/",
		      sheet->out);
		return;
	}
	if (coloured)
		terminal_text_step(terminal, sheet->out, side->step);
	print_inscription(sheet, side, form);
	if (coloured)
		terminal_text_plain(terminal, sheet->out);
}

/* Print text left-aligned in exactly that many columns. */
static void print_padded(const struct sheet_of_cells *sheet, const char *text, size_t columns)
{
	const size_t used = terminal_text_put(sheet->terminal, sheet->out, text, columns);

	fprintf(sheet->out, "%*s", (int)(columns - used), "");
}

/* Print the numbers of the blocks from first to end, leaving out those that would touch. */
static void print_numbers(const struct sheet_of_cells *sheet, size_t first, size_t end)
{
	const size_t width = (size_t)sheet->form;
	const size_t room = sheet->terminal->columns - sheet->label - MEDIAN;
	size_t at = 0, digits, step;
	char text[16];

	digits = (size_t)snprintf(text, sizeof(text), "%d", sheet->grid->blocks[end - 1]);
	step = picture_grid_step(width, digits + 1);
	fprintf(sheet->out, "%-*s%*s", (int)sheet->label, "block", MEDIAN, "median ");
	for (size_t i = first; i < end; i += step) {
		const size_t place = (i - first) * width;
		const int lead = sheet->form == FORM_WIDE ? 1 : 0;

		if (place + (size_t)lead + digits > room)
			break;
		fprintf(sheet->out, "%*s", (int)(place - at) + lead, "");
		at = place + (size_t)lead +
		     (size_t)fprintf(sheet->out, "%d", sheet->grid->blocks[i]);
	}
	fputc('\n', sheet->out);
}

/* Is cell i of that row, and in a block before end? */
static bool is_of(const struct picture_grid *grid, size_t i, size_t row, size_t end)
{
	return i < grid->in_blocks && grid->cells[i].row == row && grid->cells[i].column < end;
}

/* Print the cells of a row in the blocks before end. *i is the first cell not printed yet, and may
 * belong to another row. A row without cells in this band gets no line; otherwise a file whose
 * blocks all have different tensors would take a line per tensor in every band. */
static void print_row(const struct sheet_of_cells *sheet, size_t row, size_t first, size_t end,
		      size_t *i)
{
	const struct picture_grid *grid = sheet->grid;
	const double median = grid->rows[row].medians[0];
	size_t at = first;

	if (!is_of(grid, *i, row, end))
		return;
	print_padded(sheet, grid->rows[row].role, sheet->label);
	if (isnan(median))
		fprintf(sheet->out, "%*s", MEDIAN, "");
	else
		fprintf(sheet->out, "%*.1f ", MEDIAN - 1, median);
	for (; is_of(grid, *i, row, end); ++*i) {
		const struct picture_grid_cell *cell = &grid->cells[*i];

		fprintf(sheet->out, "%*s", (int)((cell->column - at) * (size_t)sheet->form), "");
		print_cell(sheet, &cell->sides[0], sheet->form);
		at = cell->column + 1;
	}
	fputc('\n', sheet->out);
}

/* Returns 0 or -ENOMEM. */
static int print_bands(const struct sheet_of_cells *sheet)
{
	const struct picture_grid *grid = sheet->grid;
	/* The first cell of each row that was not printed yet. */
	size_t *next = calloc(grid->n_rows + 1, sizeof(*next));

	if (!next)
		return -ENOMEM;
	for (size_t i = grid->in_blocks; i-- > 0;)
		next[grid->cells[i].row] = i;
	for (size_t first = 0; first < grid->n_blocks; first += sheet->band) {
		const size_t end =
			first + sheet->band < grid->n_blocks ? first + sheet->band : grid->n_blocks;

		print_numbers(sheet, first, end);
		for (size_t row = 0; row < grid->n_rows; row++)
			print_row(sheet, row, first, end, &next[row]);
		fputc('\n', sheet->out);
	}
	free(next);
	return 0;
}

/* The widest name of the cells from first to end. */
static size_t label_of(const struct sheet_of_cells *sheet, size_t first, size_t end)
{
	size_t most = 6;

	for (size_t i = first; i < end; i++) {
		const char *role = sheet->grid->cells[i].sides[0].figure->role;
		const size_t width = terminal_text_width(sheet->terminal, role);

		most = width > most ? width : most;
	}
	return most < LABEL_MAX ? most : LABEL_MAX;
}

static void print_outside(const struct sheet_of_cells *sheet)
{
	const struct picture_grid *grid = sheet->grid;
	const size_t n = grid->n - grid->in_blocks, gap = 2;
	const size_t label = label_of(sheet, grid->in_blocks, grid->n);
	const size_t room = (sheet->terminal->columns + gap) / (label + 1 + FORM_WIDE + gap);
	const size_t columns = room ? room : 1, lines = (n + columns - 1) / columns;

	if (n == 0)
		return;
	fputs("outside the blocks\n", sheet->out);
	for (size_t line = 0; line < lines; line++) {
		for (size_t i = line; i < n; i += lines) {
			const struct picture_grid_cell *cell = &grid->cells[grid->in_blocks + i];

			fprintf(sheet->out, "%*s", i == line ? 0 : (int)gap, "");
			print_padded(sheet, cell->sides[0].figure->role, label);
			fputc(' ', sheet->out);
			print_cell(sheet, &cell->sides[0], FORM_WIDE);
		}
		fputc('\n', sheet->out);
	}
	fputc('\n', sheet->out);
}

static void choose_form(struct sheet_of_cells *sheet)
{
	const struct picture_grid *grid = sheet->grid;
	const size_t n = grid->n_blocks;
	size_t room;

	sheet->label = label_of(sheet, 0, grid->in_blocks);
	room = sheet->terminal->columns - sheet->label - MEDIAN;
	sheet->form = n <= room / FORM_WIDE	    ? FORM_WIDE
		      : n <= room / FORM_NARROW * 2 ? FORM_NARROW
						    : FORM_TINY;
	sheet->band = picture_grid_band(grid, room / (size_t)sheet->form, SIZE_MAX);
}

static void print_head(const struct terminal_picture *screen, const struct picture_grid *grid,
		       const struct terminal *terminal, FILE *out)
{
	char subtitle[PICTURE_SUBTITLE], means[PICTURE_MEANS];

	terminal_text_bold(terminal, out);
	terminal_text_put(terminal, out, screen->name, terminal->columns);
	terminal_text_plain(terminal, out);
	fputc('\n', out);
	picture_subtitle(screen->figures, grid, subtitle);
	terminal_text_put(terminal, out, subtitle, terminal->columns);
	fputc('\n', out);
	picture_means(screen->figures, means);
	terminal_text_put(terminal, out, means, terminal->columns);
	fputs("\n\n", out);
}

int terminal_picture_print(const struct terminal_picture *screen, const struct terminal *terminal,
			   FILE *out)
{
	struct picture_grid grid;
	struct sheet_of_cells sheet = { .grid = &grid, .terminal = terminal, .out = out };
	int rc = picture_grid_make(&grid, screen->figures, NULL);

	if (rc == 0) {
		choose_form(&sheet);
		print_head(screen, &grid, terminal, out);
		rc = print_bands(&sheet);
		print_outside(&sheet);
		terminal_picture_notes(&grid, screen, terminal, sheet.form, out);
	}
	picture_grid_free(&grid);
	return rc < 0 || ferror(out) ? -ENOMEM : 0;
}
