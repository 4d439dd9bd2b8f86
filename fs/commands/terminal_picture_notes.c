/* SPDX-License-Identifier: MIT */
/* terminal_picture_notes.c - the text below the cells of a screen: the legend of colours and marks,
 * the grafts and their donors, and the verdict of .check. */
#include "fs/commands/terminal_picture.h"
#include "fs/commands/terminal_picture_internal.h"
#include "fs/commands/terminal_text.h"
#include "fs/files/picture_grid.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Output of lines of text, wrapped to the terminal. */
struct notes {
	const struct picture_grid *grid;
	const struct terminal *terminal;
	FILE *out;
};

/* Print a text behind a mark, broken between words if it is longer than a line. */
static void print_wrapped(const struct notes *notes, const char *mark, const char *text)
{
	const size_t indent = strlen(mark) + 1, columns = notes->terminal->columns;
	size_t at = indent;

	fprintf(notes->out, "%s ", mark);
	while (*text) {
		const size_t n = strcspn(text, " ");
		char *word = strndup(text, n);
		const size_t width = word ? terminal_text_width(notes->terminal, word) : 0;

		if (at > indent && at + 1 + width > columns) {
			fprintf(notes->out, "\n%*s", (int)indent, "");
			at = indent;
		} else if (at > indent) {
			fputc(' ', notes->out);
			at++;
		}
		if (word)
			at += terminal_text_put(notes->terminal, notes->out, word,
						columns - indent);
		free(word);
		text += n + strspn(text + n, " ");
	}
	fputc('\n', notes->out);
}

static void print_scale(const struct notes *notes, enum terminal_picture_form form)
{
	const bool coloured = notes->terminal->colours != COLOURS_NONE;

	if (!coloured && form != FORM_TINY)
		return;
	fputs("below ", notes->out);
	for (int step = -GRID_STEPS; step <= GRID_STEPS; step += 2) {
		if (!coloured) {
			fputs(terminal_picture_glyph(notes->terminal, step), notes->out);
			continue;
		}
		if (step)
			terminal_text_step(notes->terminal, notes->out, step);
		fputs("  ", notes->out);
		terminal_text_plain(notes->terminal, notes->out);
	}
	terminal_text_put(notes->terminal, notes->out,
			  " above the row's median, by 3 spreads at the ends",
			  notes->terminal->columns - (coloured ? 20 : 13));
	fputc('\n', notes->out);
}

/* Cells that a line is about: those of a range of donors, or with a change. */
struct choice {
	bool of_donor;
	size_t first, last;
	enum figure_change change;
};

static bool chosen(const struct choice *choice, const struct picture_grid_side *side)
{
	if (choice->of_donor)
		return figure_is(side->figure, FIGURE_GRAFTED) && side->donor >= choice->first &&
		       side->donor <= choice->last;
	return figure_is(side->figure, choice->change);
}

/* The chosen blocks of a row, like "1-4, 6", to free; empty if there are none. *i is advanced from
 * the row's first cell to the next row. NULL: out of memory. */
static char *ranges_of(const struct picture_grid *grid, const struct choice *choice, size_t *i)
{
	const size_t row = grid->cells[*i].row;
	char *text = NULL;
	size_t size, first = SIZE_MAX, last = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (;; ++*i) {
		const bool end = *i == grid->in_blocks || grid->cells[*i].row != row;
		const struct picture_grid_cell *cell = &grid->cells[*i];
		const bool is_one = !end && chosen(choice, &cell->sides[0]);

		if (is_one && first != SIZE_MAX && cell->column == last + 1) {
			last = cell->column;
		} else if (is_one || end) {
			if (first != SIZE_MAX)
				fprintf(out, "%s%" PRId32, ftell(out) > 0 ? ", " : "",
					grid->blocks[first]);
			if (first != SIZE_MAX && last > first)
				fprintf(out, "-%" PRId32, grid->blocks[last]);
			first = is_one ? cell->column : SIZE_MAX;
			last = first;
		}
		if (end)
			break;
	}
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

/* Print rows with the same blocks together: "ffn_gate ffn_up ffn_down 1-4; attn_q 3; output". */
static void print_places(const struct picture_grid *grid, const struct choice *choice, FILE *out)
{
	char *before = NULL;
	const char *between = "";

	for (size_t i = 0; i < grid->in_blocks;) {
		const char *role = grid->rows[grid->cells[i].row].role;
		char *ranges = ranges_of(grid, choice, &i);

		if (ranges && ranges[0]) {
			if (before && strcmp(before, ranges) != 0)
				fprintf(out, " %s;", before);
			fprintf(out, "%s%s", between, role);
			between = " ";
			free(before);
			before = ranges;
			continue;
		}
		free(ranges);
	}
	if (before)
		fprintf(out, " %s", before);
	for (size_t i = grid->in_blocks; i < grid->n; i++)
		if (chosen(choice, &grid->cells[i].sides[0])) {
			fprintf(out, "%s%s", before ? "; " : between,
				grid->cells[i].sides[0].figure->role);
			free(before);
			before = NULL;
			between = " ";
		}
	free(before);
}

/* Print a line: a mark, a number of tensors, their donor or change, and their places. */
static void print_group(const struct notes *notes, char mark, size_t n, const char *what,
			const char *whence, const struct choice *choice)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return;
	fprintf(out, "%zu %s%s: ", n, what, whence);
	print_places(notes->grid, choice, out);
	if (fclose(out) == 0)
		print_wrapped(notes, (char[]){ mark, '\0' }, text);
	free(text);
}

/* Print a line for each donor with a letter, and one line for all others. */
static void print_donors(const struct notes *notes)
{
	const struct picture_grid *grid = notes->grid;
	struct choice choice = { .of_donor = true };
	char whence[48];
	size_t cells = 0, i = 0;

	for (; i < grid->n_donors && terminal_picture_letter(i) != '?'; i++) {
		choice.first = choice.last = i;
		print_group(notes, terminal_picture_letter(i), grid->donors[i].cells, "from ",
			    grid->donors[i].label, &choice);
	}
	choice.first = i;
	choice.last = grid->n_donors - 1;
	for (; i < grid->n_donors; i++)
		cells += grid->donors[i].cells;
	if (cells) {
		snprintf(whence, sizeof(whence), "%zu other donor%s", grid->n_donors - choice.first,
			 choice.first == choice.last ? "" : "s");
		print_group(notes, '?', cells, "from ", whence, &choice);
	}
	choice.first = choice.last = GRID_NO_DONOR;
	if (grid->unknown)
		print_group(notes, '?', grid->unknown, "from an unknown donor", "", &choice);
}

static void print_grafts(const struct notes *notes)
{
	static const struct {
		enum figure_change change;
		char mark;
		const char *what;
	} changes[] = { { FIGURE_REMOVED, '/', "removed" },
			{ FIGURE_ADDED, '+', "added" },
			{ FIGURE_CONVERTED, 'A', "of another type than the base" },
			{ FIGURE_MERGED, '&', "merged with adapters" } };
	const struct picture_grid *grid = notes->grid;

	print_donors(notes);
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
		if (grid->changes[changes[i].change])
			print_group(notes, changes[i].mark, grid->changes[changes[i].change],
				    changes[i].what, "",
				    &(struct choice){ .change = changes[i].change });
}

/* Print the legend of the signs. */
static void print_signs(const struct notes *notes)
{
	static const char all[] = GRID_MARKS;

	for (size_t i = 0; all[i]; i++) {
		bool occurs = false;

		for (size_t k = 0; k < notes->grid->n && !occurs; k++) {
			const struct figure *figure = notes->grid->cells[k].sides[0].figure;

			occurs = !figure_is(figure, FIGURE_REMOVED) &&
				 picture_grid_mark(figure) == all[i];
		}
		if (occurs)
			print_wrapped(notes, (char[]){ all[i], '\0' },
				      picture_grid_mark_name(all[i]));
	}
}

/* Call print for each line of a text, with n fields; missing fields are empty. */
#define FIELDS 9
static void each_line(const struct notes *notes, const char *text,
		      void (*print)(const struct notes *notes, char *const fields[FIELDS],
				    bool first))
{
	char *copy = text ? strdup(text) : NULL, *rest = copy;
	bool first = true;

	for (char *line; rest && (line = strsep(&rest, "\n"));) {
		char *fields[FIELDS];

		for (size_t i = 0; i < FIELDS; i++)
			fields[i] = line ? strsep(&line, "\t") : (char *)"";
		if (fields[0][0])
			print(notes, fields, first);
		first = false;
	}
	free(copy);
}

/* Print a line of .grafts that belongs to no cell: metadata or an adapter. */
static void print_other(const struct notes *notes, char *const fields[FIELDS], bool first)
{
	char *text;

	(void)first;
	if (strncmp(fields[0], "metadata/", 9) == 0) {
		if (asprintf(&text, "%s %s", fields[0], fields[1]) < 0)
			return;
	} else if (strncmp(fields[0], "adapters/", 9) == 0 && strstr(fields[1], "adapter")) {
		if (asprintf(&text, "%s, %s of scale %s, changes %s tensor%s", fields[0], fields[1],
			     fields[2], fields[3], strcmp(fields[3], "1") == 0 ? "" : "s") < 0)
			return;
	} else {
		return;
	}
	print_wrapped(notes, "*", text);
	free(text);
}

/* Print the verdict of .check, and the lines that are not "ok". */
static void print_verdict(const struct notes *notes, char *const fields[FIELDS], bool first)
{
	char *text;

	if ((!first && strcmp(fields[0], "ok") == 0) ||
	    asprintf(&text, "%s%s%s: %s", first ? "" : fields[0], first ? "" : " ",
		     first ? fields[0] : fields[1], fields[2]) < 0)
		return;
	print_wrapped(notes, first ? "verdict" : " ", text);
	free(text);
}

void terminal_picture_notes(const struct picture_grid *grid, const struct terminal_picture *screen,
			    const struct terminal *terminal, enum terminal_picture_form form,
			    FILE *out)
{
	const struct notes notes = { grid, terminal, out };

	print_scale(&notes, form);
	print_signs(&notes);
	print_grafts(&notes);
	each_line(&notes, screen->grafts, print_other);
	each_line(&notes, screen->check, print_verdict);
}
