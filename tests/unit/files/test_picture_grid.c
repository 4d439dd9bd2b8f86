/* SPDX-License-Identifier: MIT */
/* test_picture_grid.c - fs/files/picture_grid.c, picture_grid_order.c, picture_grid_spread.c:
 * places of tensors, and their distances from their rows. */
#include "fs/files/picture_grid.h"
#include "measure/zmeasure.h"
#include "tests/unit/unit.h"

#include <math.h>

#define MOST 64

/* Figures with the values they borrow. */
struct sheet {
	struct figure list[MOST];
	struct zmeasure values[MOST];
	struct figures figures;
};

static struct figure *add(struct sheet *sheet, const char *role, enum organ_class klass,
			  int32_t block, double theta)
{
	const size_t i = sheet->figures.n++;

	assert_true(i < MOST);
	sheet->values[i] = (struct zmeasure){ .theta = theta };
	sheet->list[i] = (struct figure){ .file = role,
					  .role = role,
					  .type = "F32",
					  .klass = klass,
					  .block = block,
					  .z = isnan(theta) ? NULL : &sheet->values[i] };
	sheet->figures.figures = sheet->list;
	return &sheet->list[i];
}

static void make(struct picture_grid *grid, const struct sheet *first, const struct sheet *second)
{
	assert_int_equal(picture_grid_make(grid, &first->figures, second ? &second->figures : NULL),
			 0);
}

static void spread_ignores_outliers(void **state)
{
	double many[] = { 40, 41, 39, 40, 90, 42, 38 }, even[] = { 10, 30, 20, 20 };
	double equal[] = { 40, 40.1, 39.9 }, few[] = { 1, 2 }, median, spread;

	(void)state;
	picture_grid_spread(many, 7, &median, &spread);
	assert_true(median == 40);
	assert_true(fabs(spread - 1.4826) < 1e-9);
	picture_grid_spread(even, 4, &median, &spread);
	assert_true(median == 20);
	assert_true(fabs(spread - 1.4826 * 5) < 1e-9);
	picture_grid_spread(equal, 3, &median, &spread);
	assert_true(spread == GRID_SPREAD_MIN);
	picture_grid_spread(few, 2, &median, &spread);
	assert_true(isnan(median) && isnan(spread));
}

static void rows_compare_with_themselves_alone(void **state)
{
	static const double low[] = { 10, 10, 10, 11, 10, (double)NAN },
			    high[] = { 80, 80, 75, 80 };
	struct sheet sheet = { 0 };
	struct picture_grid grid;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(low); i++)
		add(&sheet, "attn_q", CLASS_SKELETON, (int32_t)i, low[i]);
	for (size_t i = 0; i < ARRAY_LENGTH(high); i++)
		add(&sheet, "attn_norm", CLASS_NORM, (int32_t)i, high[i]);
	add(&sheet, "ffn_up", CLASS_ORGANS, 3, 50);
	make(&grid, &sheet, NULL);
	assert_int_equal(grid.n_rows, 3);
	assert_string_equal(grid.rows[0].role, "attn_norm");
	assert_true(grid.rows[0].medians[0] == 80);
	assert_int_equal(grid.cells[0].sides[0].step, 0);
	assert_int_equal(grid.cells[2].sides[0].step, -GRID_STEPS);
	/* One degree is the spread, and two steps. */
	assert_string_equal(grid.rows[1].role, "attn_q");
	assert_int_equal(grid.cells[4 + 3].sides[0].step, 2);
	assert_int_equal(grid.cells[4 + 5].sides[0].step, GRID_NONE);
	/* The cell has nothing to compare with. */
	assert_int_equal(grid.cells[10].sides[0].step, GRID_NONE);
	assert_true(isnan(grid.rows[2].medians[0]));
	picture_grid_free(&grid);
}

static void tensor_outside_blocks_compares_with_its_kind(void **state)
{
	struct sheet sheet = { 0 };
	struct picture_grid grid;
	char roles[16][32];

	(void)state;
	for (int i = 0; i < 8; i++) {
		snprintf(roles[i], sizeof(roles[i]), "input_blocks_%d_0_proj", i * 3);
		add(&sheet, roles[i], CLASS_OTHER, -1, i == 7 ? 70 : 30);
		snprintf(roles[8 + i], sizeof(roles[i]), "strange_%c", 'a' + i);
		add(&sheet, roles[8 + i], CLASS_OTHER, -1, 70);
	}
	add(&sheet, "output", CLASS_EMBED, -1, 36);
	add(&sheet, "token_embd", CLASS_EMBED, -1, 80);
	make(&grid, &sheet, NULL);
	assert_int_equal(grid.n, 18);
	assert_int_equal(grid.in_blocks, 0);
	for (size_t i = 0; i < grid.n; i++) {
		const struct picture_grid_side *side = &grid.cells[i].sides[0];

		if (side->figure->klass == CLASS_EMBED)
			assert_int_equal(side->step, GRID_NONE);
		else if (strncmp(side->figure->role, "input", 5) == 0)
			assert_int_equal(side->step, side->theta > 40 ? GRID_STEPS : 0);
		else
			assert_int_equal(side->step, 0);
	}
	assert_string_equal(grid.cells[0].sides[0].figure->role, "token_embd");
	assert_string_equal(grid.cells[17].sides[0].figure->role, "output");
	/* Numbers in names count as such: 9 before 12. */
	assert_string_equal(grid.cells[4].sides[0].figure->role, "input_blocks_9_0_proj");
	assert_string_equal(grid.cells[5].sides[0].figure->role, "input_blocks_12_0_proj");
	picture_grid_free(&grid);
}

static void order_is_that_of_the_block(void **state)
{
	static const struct {
		const char *role;
		enum organ_class klass;
	} order[] = {
		{ "attn_norm", CLASS_NORM },	   { "attn_q", CLASS_SKELETON },
		{ "attn_q_bias", CLASS_SKELETON }, { "attn_k", CLASS_SKELETON },
		{ "attn_v", CLASS_SKELETON },	   { "attn_output", CLASS_SKELETON },
		{ "ssm_in", CLASS_SKELETON },	   { "v_attn_q", CLASS_SKELETON },
		{ "ffn_norm", CLASS_NORM },	   { "ffn_gate_inp", CLASS_ORGANS },
		{ "ffn_up", CLASS_ORGANS },	   { "ffn_down_exps", CLASS_ORGANS },
		{ "ffn_strange", CLASS_ORGANS },   { "anything", CLASS_OTHER },
	};
	struct sheet sheet = { 0 };
	struct picture_grid grid;
	size_t at = 0;

	(void)state;
	for (size_t i = ARRAY_LENGTH(order); i-- > 0;)
		add(&sheet, order[i].role, order[i].klass, 0, 30);
	make(&grid, &sheet, NULL);
	assert_int_equal(grid.n_rows, ARRAY_LENGTH(order));
	/* A tower's attention stands with attention, by its own name. */
	for (size_t i = 0; i < grid.n_rows; i++) {
		if (strcmp(grid.rows[i].role, "v_attn_q") == 0)
			continue;
		at += strcmp(order[at].role, "v_attn_q") == 0;
		assert_string_equal(grid.rows[i].role, order[at++].role);
		assert_int_equal(grid.rows[i].section, at == 9 || at == 14);
	}
	picture_grid_free(&grid);
}

static void donors_are_counted_and_told_apart(void **state)
{
	static const char *const donors[] = { "/a/clerk.gguf", "/a/clerk.gguf", "/b/clerk.gguf",
					      "/a/poet-00001-of-00003.gguf", "/x/parts/" };
	struct sheet sheet = { 0 };
	struct picture_grid grid;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(donors); i++) {
		struct figure *figure = add(&sheet, "ffn_up", CLASS_ORGANS, (int32_t)i, 30);

		figure->changes = 1u << FIGURE_GRAFTED;
		figure->donor = donors[i];
	}
	add(&sheet, "ffn_up", CLASS_ORGANS, 9, 30)->changes =
		1u << FIGURE_GRAFTED | 1u << FIGURE_ADDED;
	make(&grid, &sheet, NULL);
	assert_int_equal(grid.n_donors, 4);
	assert_int_equal(grid.donors[0].cells, 2);
	assert_string_equal(grid.donors[0].label, "/a/clerk.gguf");
	assert_string_equal(grid.donors[1].label, "poet");
	assert_string_equal(grid.donors[2].label, "/b/clerk.gguf");
	assert_string_equal(grid.donors[3].label, "parts/");
	assert_int_equal(grid.cells[1].sides[0].donor, 0);
	assert_int_equal(grid.cells[2].sides[0].donor, 2);
	assert_int_equal(grid.unknown, 1);
	assert_int_equal(grid.changes[FIGURE_GRAFTED], 6);
	assert_int_equal(grid.changes[FIGURE_ADDED], 1);
	picture_grid_free(&grid);
}

static void two_models_are_aligned(void **state)
{
	struct sheet first = { 0 }, second = { 0 };
	struct picture_grid grid;

	(void)state;
	for (int32_t i = 0; i < 4; i++) {
		add(&first, "attn_q", CLASS_SKELETON, i, 40);
		add(&second, "attn_q", CLASS_SKELETON, i + 1, 42);
	}
	add(&first, "attn_k", CLASS_SKELETON, 1, 40);
	add(&second, "output", CLASS_EMBED, -1, 40);
	make(&grid, &first, &second);
	assert_int_equal(grid.n_rows, 2);
	assert_int_equal(grid.n_blocks, 5);
	assert_int_equal(grid.in_blocks, 6);
	assert_int_equal(grid.n, 7);
	assert_null(grid.cells[0].sides[1].figure);
	assert_true(isnan(grid.cells[0].delta));
	assert_true(grid.cells[1].delta == 2);
	assert_true(grid.delta_full == 3);
	assert_int_equal(grid.cells[1].step, 4);
	assert_null(grid.cells[4].sides[0].figure);
	assert_null(grid.cells[5].sides[1].figure);
	picture_grid_free(&grid);
}

static void two_models_without_a_tensor_in_common_have_all_of_both(void **state)
{
	struct sheet first = { 0 }, second = { 0 };
	struct picture_grid grid;
	uint32_t sides[2] = { 0 };

	(void)state;
	for (int32_t i = 0; i < MOST; i++) {
		add(&first, "attn_q", CLASS_SKELETON, i, 40);
		add(&second, "ffn_up", CLASS_ORGANS, i, 42);
	}
	make(&grid, &first, &second);
	assert_int_equal(grid.n, 2 * MOST);
	assert_int_equal(grid.n_rows, 2);
	for (size_t i = 0; i < 2 * MOST; i++)
		for (unsigned side = 0; side < 2; side++)
			sides[side] += grid.cells[i].sides[side].figure != NULL;
	assert_int_equal(sides[0], MOST);
	assert_int_equal(sides[1], MOST);
	picture_grid_free(&grid);
}

static void grid_lists_existing_blocks(void **state)
{
	static const int32_t blocks[] = { 0, 1, 2, 5, 7, 8, INT32_MAX };
	struct sheet sheet = { 0 };
	struct picture_grid grid;
	char text[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(blocks); i++)
		add(&sheet, "attn_q", CLASS_SKELETON, blocks[i], 30);
	make(&grid, &sheet, NULL);
	assert_int_equal(picture_grid_blocks_text(&grid, text, sizeof(text)), 7);
	assert_string_equal(text, "0-2, 5, 7-8, 2147483647");
	picture_grid_blocks_text(&grid, text, 16);
	assert_string_equal(text, "0-2, 5, ...");
	assert_int_equal(picture_grid_band(&grid, 4, 4), 4);
	assert_int_equal(picture_grid_band(&grid, 3, 4), 3);
	assert_int_equal(picture_grid_band(&grid, 1, 2), 4);
	assert_int_equal(picture_grid_step(10, 10), 1);
	assert_int_equal(picture_grid_step(3, 4), 2);
	assert_int_equal(picture_grid_step(1, 4), 5);
	assert_int_equal(picture_grid_step(2, 101), 100);
	picture_grid_free(&grid);
}

static void out_of_memory_is_reported(void **state)
{
	struct sheet sheet = { 0 };
	struct picture_grid grid;
	int rc;

	needs_failing_allocations();
	(void)state;
	add(&sheet, "attn_q", CLASS_SKELETON, 0, 30)->donor = "/x/parts/";
	add(&sheet, "attn_q", CLASS_SKELETON, 1, 30)->donor = "/a/clerk.gguf";
	for (uint64_t k = 1;; k++) {
		allocation_fails(k);
		rc = picture_grid_make(&grid, &sheet.figures, NULL);
		picture_grid_free(&grid);
		if (!allocation_failed())
			break;
		assert_int_equal(rc, -ENOMEM);
	}
	assert_int_equal(rc, 0);
}

UNIT_MAIN(NULL, NULL)
