/* SPDX-License-Identifier: MIT */
/* test_picture.c - fs/picture.c and fs/picture_plan.c: the same length whatever is measured, every
 * tensor in a place of its own, and nothing that a name could break. */
#include "unit.h"
#include "fs/picture_internal.h"

#include <math.h>

#define MOST 6000

/* Figures of a model, with room for their texts. */
struct gallery {
	size_t n;
	struct figure figures[MOST];
	struct zmeasure z[MOST];
	char texts[MOST][64];
};

static uint32_t next(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

static void add(struct gallery *g, enum organ_class klass, int32_t block, const char *role)
{
	struct figure *figure = &g->figures[g->n];

	assert_true(g->n < MOST);
	snprintf(g->texts[g->n], sizeof(g->texts[0]), "%s/blk_%d_%s.bin", class_name(klass), block,
		 role);
	*figure = (struct figure){ .file = g->texts[g->n++],
				   .role = role,
				   .type = "Q4_K",
				   .klass = klass,
				   .block = block,
				   .elements = 4096 * g->n };
}

static void make_llama(struct gallery *g, int32_t blocks)
{
	g->n = 0;
	add(g, CLASS_EMBED, -1, "token_embd");
	for (int32_t i = 0; i < blocks; i++) {
		add(g, CLASS_NORM, i, "attn_norm");
		add(g, CLASS_SKELETON, i, "attn_q");
		add(g, CLASS_SKELETON, i, "attn_q_bias");
		add(g, CLASS_ORGANS, i, "ffn_up");
		add(g, CLASS_ORGANS, i, "ffn_down");
	}
	add(g, CLASS_EMBED, -1, "output");
}

static void measure(struct gallery *g, uint32_t seed)
{
	for (size_t i = 0; i < g->n; i++) {
		struct zmeasure *z = &g->z[i];

		*z = (struct zmeasure){
			.status = (enum zmeasure_status)(next(&seed) % 6),
			.theta = next(&seed) % 9001 / 100.0,
			.signal = next(&seed) % 1001 / 1000.0,
			.entropy = next(&seed) % 1001 / 1000.0,
			.kurtosis = next(&seed) % 3 ? next(&seed) * 1e6 : -1.2345678,
			.spacing = next(&seed) / 3.0,
			.magnitude = next(&seed) % 1001 / 1000.0 - 0.5,
			.has_magnitude = next(&seed) % 2,
		};
		if (z->status == ZMEASURE_NONFINITE)
			z->theta = z->signal = -NAN;
		g->figures[i].z = next(&seed) % 7 ? z : NULL;
	}
}

static char *draw(struct gallery *g, const char *name, size_t *size)
{
	const struct picture picture = { name, "llama, some blocks", g->n, g->figures };
	char *text;
	FILE *out = open_memstream(&text, size);

	assert_non_null(out);
	assert_int_equal(picture_print(&picture, out), 0);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(strlen(text), *size);
	return text;
}

static size_t length_of(struct gallery *g)
{
	size_t size;

	free(draw(g, "name", &size));
	return size;
}

static void the_length_does_not_depend_on_what_is_measured(void **state)
{
	static const int32_t blocks[] = { 0, 1, 4, 24, 61, 100, 1000 };
	struct gallery *g = calloc(1, sizeof(*g));

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(blocks); i++) {
		size_t expected;

		make_llama(g, blocks[i]);
		for (size_t k = 0; k < g->n; k++)
			g->figures[k].z = NULL;
		expected = length_of(g);
		for (uint32_t seed = 0; seed < 20; seed++) {
			measure(g, seed);
			assert_int_equal(length_of(g), expected);
		}
	}
	g->n = 0;
	assert_true(length_of(g) > 0);
	free(g);
}

static size_t occurrences(const char *text, const char *words)
{
	size_t n = 0;

	for (; (text = strstr(text, words)); text++)
		n++;
	return n;
}

static void every_tensor_has_a_cell_and_a_tooltip(void **state)
{
	struct gallery *g = calloc(1, sizeof(*g));
	size_t size;
	char *text;

	(void)state;
	make_llama(g, 24);
	measure(g, 5);
	g->z[7] = (struct zmeasure){ .theta = 36.07, .signal = 0.58868, .entropy = 0.9 };
	g->figures[7].z = &g->z[7];
	text = draw(g, "model", &size);
	assert_int_equal(occurrences(text, "<title>"), g->n + 1);
	assert_int_equal(occurrences(text, "</rect>"), g->n);
	for (size_t i = 0; i < g->n; i++)
		assert_int_equal(occurrences(text, g->figures[i].file), 1);
	assert_non_null(strstr(text, "θ 36.07°, signal 0.58868"));
	assert_non_null(strstr(text, ">attn_q_bias</text>"));
	free(text);
	free(g);
}

/* Colours of the scale's ends, of half way between two of its colours, and of nothing. */
static void a_cell_has_the_colour_of_its_angle(void **state)
{
	static const struct {
		double theta;
		const char *fill;
	} cases[] = { { 0, "fill=\"#440154\" stroke=\"#ffffff\"" },
		      { 90, "fill=\"#fde725\" stroke=\"#ffffff\"" },
		      { 45, "fill=\"#21918c\" stroke=\"#ffffff\"" },
		      { 22.5, "fill=\"#3b5189\" stroke=\"#ffffff\"" } };
	struct gallery *g = calloc(1, sizeof(*g));
	size_t size;
	char *text;

	(void)state;
	add(g, CLASS_ORGANS, 0, "ffn_up");
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		g->z[0] = (struct zmeasure){ .theta = cases[i].theta };
		g->figures[0].z = &g->z[0];
		text = draw(g, "model", &size);
		if (!strstr(text, cases[i].fill))
			fail_msg("%g is not %s", cases[i].theta, cases[i].fill);
		free(text);
	}
	g->figures[0].z = NULL;
	text = draw(g, "model", &size);
	assert_non_null(strstr(text, "fill=\"#c9c9c9\" stroke=\"#d62728\"><title>"));
	free(text);
	g->z[0].status = ZMEASURE_CONSTANT;
	g->figures[0].z = &g->z[0];
	text = draw(g, "model", &size);
	assert_non_null(strstr(text, "stroke=\"#d62728\"><title>"));
	free(text);
	free(g);
}

static void assert_apart(const struct picture_plan *plan)
{
	for (size_t i = 0; i < plan->n_cells; i++) {
		const struct picture_cell *a = &plan->cells[i];

		assert_true(a->row < plan->n_rows && a->column < plan->n_blocks);
		assert_string_equal(plan->rows[a->row].figure->role, a->figure->role);
		assert_int_equal(plan->rows[a->row].figure->klass, a->figure->klass);
		assert_int_equal(plan->blocks[a->column], a->figure->block);
		for (size_t k = 0; k < i; k++)
			assert_false(plan->cells[k].row == a->row &&
				     plan->cells[k].column == a->column);
	}
	for (size_t i = 1; i < plan->n_rows; i++)
		assert_true(plan->rows[i].y >= plan->rows[i - 1].y + PICTURE_LINE);
}

static void no_two_tensors_share_a_place(void **state)
{
	static const char *const roles[] = { "a", "b", "ffn_up", "ffn_down", "%" };
	struct gallery *g = calloc(1, sizeof(*g));
	uint32_t seed = 3;

	(void)state;
	for (size_t n = 0; n < 300; n += 23) {
		struct picture picture = { "", "", n, g->figures };
		struct picture_plan plan;

		g->n = 0;
		for (size_t i = 0; i < n; i++)
			add(g, (enum organ_class)(next(&seed) % CLASSES),
			    (int32_t)(next(&seed) % 9) - 1, roles[next(&seed) % 5]);
		assert_int_equal(picture_arrange(&picture, &plan), 0);
		assert_int_equal(plan.n_cells + plan.n_outside, n);
		assert_apart(&plan);
		picture_release(&plan);
	}
	free(g);
}

static void rows_stand_by_class_and_then_as_they_appear(void **state)
{
	static const char *const expected[] = { "attn_q", "attn_q_bias", "ffn_up", "ffn_down",
						"attn_norm" };
	struct gallery *g = calloc(1, sizeof(*g));
	struct picture picture = { "", "", 0, g->figures };
	struct picture_plan plan;

	(void)state;
	make_llama(g, 3);
	picture.n = g->n;
	assert_int_equal(picture_arrange(&picture, &plan), 0);
	assert_int_equal(plan.n_rows, ARRAY_LENGTH(expected));
	for (size_t i = 0; i < plan.n_rows; i++)
		assert_string_equal(plan.rows[i].figure->role, expected[i]);
	picture_release(&plan);
	free(g);
}

static void block_numbers_may_be_anything(void **state)
{
	struct gallery *g = calloc(1, sizeof(*g));
	struct picture picture = { "", "", 3, g->figures };
	struct picture_plan plan;

	(void)state;
	add(g, CLASS_ORGANS, INT32_MAX, "x");
	add(g, CLASS_ORGANS, 5, "x");
	add(g, CLASS_ORGANS, 1000000, "x");
	assert_int_equal(picture_arrange(&picture, &plan), 0);
	assert_int_equal(plan.n_blocks, 3);
	assert_int_equal(plan.blocks[0], 5);
	assert_true(plan.width < 2000);
	picture_release(&plan);
	free(g);
}

static void names_cannot_break_the_markup(void **state)
{
	struct gallery *g = calloc(1, sizeof(*g));
	char longest[1001];
	size_t size;
	char *text;

	(void)state;
	add(g, CLASS_ORGANS, 0, "a&b<c>\"d");
	text = draw(g, "</title><script>&\"\n\x01\xef\xbf\xbf", &size);
	assert_null(strstr(text, "<script>"));
	assert_non_null(strstr(text, "&lt;/title&gt;&lt;script&gt;&amp;&quot;??"));
	assert_non_null(strstr(text, "a&amp;b&lt;c&gt;&quot;d"));
	assert_int_equal(occurrences(text, "\x01"), 0);
	free(text);
	/* A long name is cut between letters. */
	for (size_t i = 0; i < 500; i++)
		memcpy(longest + 2 * i, "\xc3\xa9", 2);
	longest[1000] = '\0';
	text = draw(g, longest, &size);
	assert_non_null(strstr(text, "\xc3\xa9…</text>"));
	free(text);
	free(g);
}

static void a_long_role_loses_its_middle(void **state)
{
	struct gallery *g = calloc(1, sizeof(*g));
	size_t size;
	char *text;

	(void)state;
	add(g, CLASS_ORGANS, 0, "the_beginning_and_much_more_and_the_end");
	text = draw(g, "model", &size);
	assert_non_null(strstr(text, ">the_beginning…e_and_the_end</text>"));
	free(text);
	free(g);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(the_length_does_not_depend_on_what_is_measured),
	cmocka_unit_test(every_tensor_has_a_cell_and_a_tooltip),
	cmocka_unit_test(a_cell_has_the_colour_of_its_angle),
	cmocka_unit_test(no_two_tensors_share_a_place),
	cmocka_unit_test(rows_stand_by_class_and_then_as_they_appear),
	cmocka_unit_test(block_numbers_may_be_anything),
	cmocka_unit_test(names_cannot_break_the_markup),
	cmocka_unit_test(a_long_role_loses_its_middle),
};

UNIT_MAIN(tests)
