/* SPDX-License-Identifier: MIT */
/* test_terminal_picture.c - fs/commands/terminal_picture.c, terminal_picture_notes.c: the picture
 * shows every tensor at any width, with any names and values. */
#include "fs/commands/terminal_picture.h"
#include "fs/commands/terminal_text.h"
#include "fs/lazy/figures.h"
#include "fs/report/card.h"
#include "measure/zmeasure.h"
#include "tests/unit/unit.h"

#include <locale.h>
#include <math.h>

static const char *const roles[] = { "attn_norm", "attn_q",   "attn_k", "attn_v",  "attn_output",
				     "ffn_norm",  "ffn_gate", "ffn_up", "ffn_down" };

/* A model of that many blocks, and the values that it borrows. */
struct sheet {
	struct card card;
	struct figures figures;
	struct zmeasure *values;
};

static void make(struct sheet *sheet, size_t blocks)
{
	const size_t n = blocks * ARRAY_LENGTH(roles) + 1;

	*sheet = (struct sheet){ .card = { .architecture = "llama" } };
	sheet->values = calloc(n, sizeof(*sheet->values));
	sheet->figures = (struct figures){ .card = &sheet->card, .n = n };
	sheet->figures.figures = calloc(n, sizeof(struct figure));
	assert_non_null(sheet->values);
	assert_non_null(sheet->figures.figures);
	for (size_t i = 0; i < n; i++) {
		const bool last = i == n - 1;

		sheet->values[i] = (struct zmeasure){ .theta = 36 + (double)(i * 7919 % 100) / 40 };
		sheet->figures.figures[i] = (struct figure){
			.file = "organs/x.bin",
			.role = last ? "output" : roles[i % ARRAY_LENGTH(roles)],
			.type = "F32",
			.klass = last ? CLASS_EMBED : CLASS_ORGANS,
			.block = last ? -1 : (int32_t)(i / ARRAY_LENGTH(roles)),
			.elements = 64,
			.z = &sheet->values[i],
		};
	}
}

static void release(struct sheet *sheet)
{
	free(sheet->values);
	free(sheet->figures.figures);
}

static char *show(const struct sheet *sheet, const char *name, struct terminal terminal)
{
	const struct terminal_picture screen = {
		name, &sheet->figures, "metadata/general.name\tedited\nadapters/a\tadapter\t1\t2\n",
		"risky\toverall\tone\nok\tfine\tyes\nrisky\tunit\tno\n"
	};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(terminal_picture_print(&screen, &terminal, out), 0);
	assert_int_equal(fclose(out), 0);
	return text;
}

static size_t count(const char *text, const char *what)
{
	size_t n = 0;

	for (text = strstr(text, what); text; text = strstr(text + 1, what))
		n++;
	return n;
}

static void no_line_is_wider_than_the_terminal(void **state)
{
	static const size_t blocks[] = { 0, 1, 4, 32, 80, 130, 1000 };
	static const size_t widths[] = { 40, 80, 120, 200 };

	(void)state;
	for (size_t b = 0; b < ARRAY_LENGTH(blocks); b++) {
		struct sheet sheet;

		make(&sheet, blocks[b]);
		for (size_t w = 0; w < ARRAY_LENGTH(widths); w++) {
			char *text =
				show(&sheet, "model", (struct terminal){ .columns = widths[w] });

			for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
				assert_true(strcspn(line, "\n") <= widths[w]);
			free(text);
		}
		release(&sheet);
	}
}

static void cells_fill_the_width(void **state)
{
	struct terminal plain = { .columns = 80 };
	struct sheet sheet;
	char *text;

	(void)state;
	make(&sheet, 6);
	sheet.values[0].theta = 12.34;
	text = show(&sheet, "model", plain);
	assert_non_null(strstr(text, "\nattn_norm   "));
	assert_int_equal(count(text, " 12.3 "), 1);
	assert_int_equal(count(text, "block "), 1);
	free(text);
	release(&sheet);
	make(&sheet, 32);
	sheet.values[0].theta = 88.6;
	text = show(&sheet, "model", plain);
	assert_int_equal(count(text, " 89 "), 1);
	assert_int_equal(count(text, "block "), 2);
	free(text);
	release(&sheet);
	/* Without colours and numbers a digit tells the distance from the median. */
	make(&sheet, 130);
	sheet.values[0].theta = 0;
	text = show(&sheet, "model", plain);
	assert_non_null(strstr(text, "\nattn_norm    37.2 1"));
	assert_non_null(strstr(text, "below 123-567 above"));
	free(text);
	release(&sheet);
}

/* Column of the text in that row's line. */
static size_t place_of(const char *text, const char *row, const char *what)
{
	const char *line = strstr(text, row), *found = line ? strstr(line + 1, what) : NULL;

	assert_non_null(found);
	assert_true((size_t)(found - line) < 1 + strcspn(line + 1, "\n"));
	return (size_t)(found - line);
}

static void a_cell_stands_below_those_of_its_block_where_others_lack(void **state)
{
	const size_t n = ARRAY_LENGTH(roles);
	struct sheet sheet;
	char *text;

	(void)state;
	make(&sheet, 6);
	sheet.figures.figures[1 * n + 1].role = sheet.figures.figures[2 * n + 1].role = "attn_x";
	sheet.values[3 * n].theta = sheet.values[3 * n + 1].theta = 12.34;
	text = show(&sheet, "model", (struct terminal){ .columns = 80 });
	assert_int_equal(place_of(text, "\nattn_q ", " 12.3 "),
			 place_of(text, "\nattn_norm ", " 12.3 "));
	free(text);
	release(&sheet);
}

static void colours_are_those_of_the_terminal(void **state)
{
	struct terminal terminal = { .columns = 80, .utf8 = true, .dark = true };
	struct sheet sheet;
	char *text;

	(void)state;
	make(&sheet, 6);
	sheet.values[0].theta = 0;
	text = show(&sheet, "model", terminal);
	assert_int_equal(count(text, "\033"), 0);
	free(text);
	terminal.colours = COLOURS_256;
	text = show(&sheet, "model", terminal);
	assert_non_null(strstr(text, "\033[38;5;16;48;5;153m  0.0  \033[0m"));
	free(text);
	terminal.colours = COLOURS_FULL;
	text = show(&sheet, "model", terminal);
	assert_non_null(strstr(text, "\033[38;2;0;0;0;48;2;156;203;255m  0.0  \033[0m"));
	free(text);
	release(&sheet);
}

static void changes_are_listed(void **state)
{
	struct figure removed = { .file = "organs/y.bin",
				  .role = "ffn_up",
				  .type = "F32",
				  .klass = CLASS_ORGANS,
				  .block = 9,
				  .changes = 1u << FIGURE_REMOVED };
	struct sheet sheet;
	char *text;

	(void)state;
	make(&sheet, 6);
	sheet.figures.removed = &removed;
	sheet.figures.n_removed = 1;
	for (size_t block = 1; block < 4; block++)
		for (size_t i = 6; i < 9; i++) {
			struct figure *figure = &sheet.figures.figures[block * 9 + i];

			figure->changes = 1u << FIGURE_GRAFTED;
			figure->donor = "/models/cl\033erk.gguf";
		}
	sheet.figures.figures[9 + 6].changes |= 1u << FIGURE_CONVERTED;
	sheet.figures.figures[54].changes = 1u << FIGURE_GRAFTED | 1u << FIGURE_ADDED;
	sheet.values[10].status = ZMEASURE_CONSTANT;
	text = show(&sheet, "mo\033del", (struct terminal){ .columns = 80 });
	assert_null(strchr(text, '\033'));
	assert_non_null(strstr(text, "llama, blocks 0-5, 55 tensors\n"));
	assert_non_null(strstr(text, "\na 9 from cl?erk: ffn_gate ffn_up ffn_down 1-3\n"));
	assert_non_null(strstr(text, "\n? 1 from an unknown donor: output\n"));
	assert_non_null(strstr(text, "\n/ 1 removed: ffn_up 9\n"));
	assert_non_null(strstr(text, "\n+ 1 added: output\n"));
	assert_non_null(strstr(text, "\nA 1 of another type than the base: ffn_gate 1\n"));
	assert_non_null(strstr(text, "\n= constant\n"));
	assert_null(strstr(text, "\n! nonfinite\n"));
	assert_non_null(strstr(text, "\n* metadata/general.name edited\n"));
	assert_non_null(strstr(text, "\n* adapters/a, adapter of scale 1, changes 2 tensors\n"));
	assert_non_null(strstr(text, "\nverdict risky: one\n  risky unit: no\n"));
	assert_null(strstr(text, "fine"));
	assert_int_equal(count(text, "a  "), 8);
	assert_int_equal(count(text, "A  "), 1);
	free(text);
	release(&sheet);
}

/* Every block has a tensor of another kind, and from another donor. */
static void strange_models_take_no_more_room(void **state)
{
	enum { BLOCKS = 2000 };
	static char names[BLOCKS][32], donors[BLOCKS][32];
	struct sheet sheet;
	char *text;

	(void)state;
	make(&sheet, BLOCKS);
	sheet.figures.n = BLOCKS;
	for (int i = 0; i < BLOCKS; i++) {
		struct figure *figure = &sheet.figures.figures[i];

		snprintf(names[i], sizeof(names[i]), "kind%d", i);
		snprintf(donors[i], sizeof(donors[i]), "/models/%04d.gguf", i);
		figure->role = names[i];
		figure->block = i * 1000000;
		figure->changes = 1u << FIGURE_GRAFTED;
		figure->donor = donors[i];
	}
	memset(sheet.card.architecture, 'x', sizeof(sheet.card.architecture) - 1);
	text = show(&sheet, "model", (struct terminal){ .columns = 1000 });
	assert_non_null(strstr(text, "..., 2000 tensors\n"));
	free(text);
	text = show(&sheet, "model", (struct terminal){ .columns = 40 });
	/* The text has a line for a band, one for a tensor, and as many cells below. */
	assert_true(strlen(text) < (size_t)BLOCKS * 300);
	assert_int_equal(count(text, "\nkind"), BLOCKS);
	assert_non_null(strstr(text, "\nz 1 from 0025: kind25 25000000\n"));
	assert_non_null(strstr(text, "\n? 1974 from 1974 other donors: kind26\n"));
	assert_null(strstr(text, "from 0026"));
	free(text);
	sheet.figures.n = 27;
	text = show(&sheet, "model", (struct terminal){ .columns = 80 });
	assert_non_null(strstr(text, "\n? 1 from 1 other donor: kind26 26000000\n"));
	free(text);
	release(&sheet);
}

static void out_of_memory_is_reported(void **state)
{
	const struct terminal terminal = { .columns = 80 };
	struct terminal_picture screen = { .name = "model" };
	struct sheet sheet;
	int rc;

	needs_failing_allocations();
	(void)state;
	make(&sheet, 2);
	screen.figures = &sheet.figures;
	for (uint64_t k = 1;; k++) {
		char *text = NULL;
		size_t size;
		FILE *out = open_memstream(&text, &size);

		allocation_fails(k);
		rc = terminal_picture_print(&screen, &terminal, out);
		fclose(out);
		free(text);
		if (!allocation_failed())
			break;
		assert_int_equal(rc, -ENOMEM);
	}
	assert_int_equal(rc, 0);
	release(&sheet);
}

UNIT_MAIN(NULL, NULL)
