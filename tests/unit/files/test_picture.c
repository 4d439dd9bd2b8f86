/* SPDX-License-Identifier: MIT */
/* test_picture.c - fs/files/picture.c: a size independent of values, XML for any names, and a
 * place of its own for every tensor. */
#include "fs/edit/graft.h"
#include "fs/files/picture.h"
#include "fs/files/picture_internal.h"
#include "tests/unit/measures.h"

#include <math.h>
#include <time.h>

/* Figures with their texts and values. */
struct sheet {
	size_t n, room;
	size_t n_removed; /* figures behind the n, for removed tensors */
	bool twice;	  /* the sheet is drawn beside itself */
	struct figure *figures;
	struct zmeasure *values;
};

static void add(struct sheet *sheet, const char *role, enum organ_class klass, int32_t block)
{
	char file[512], *copy;

	if (sheet->n == sheet->room) {
		sheet->room = sheet->room * 2 + 16;
		sheet->figures = realloc(sheet->figures, sheet->room * sizeof(*sheet->figures));
		assert_non_null(sheet->figures);
	}
	if (block < 0)
		snprintf(file, sizeof(file), "%s/%s.bin", class_name(klass), role);
	else
		snprintf(file, sizeof(file), "%s/blk_%d_%s.bin", class_name(klass), block, role);
	copy = strdup(role);
	sheet->figures[sheet->n] = (struct figure){
		.file = strdup(file),
		.role = copy,
		.type = klass == CLASS_NORM ? "F32" : "Q4_K",
		.klass = klass,
		.block = block,
		.elements = klass == CLASS_NORM ? 2048 : 2048 * 5632 + sheet->n,
		.weighed = sheet->n % 2,
	};
	sheet->n++;
}

/* Remove the last tensor. */
static void remove_last(struct sheet *sheet)
{
	assert_true(sheet->n > 0);
	sheet->n--;
	sheet->n_removed++;
	sheet->figures[sheet->n].changes = 1u << FIGURE_REMOVED;
}

static void free_sheet(struct sheet *sheet)
{
	for (size_t i = 0; i < sheet->n + sheet->n_removed; i++) {
		free((char *)sheet->figures[i].file);
		free((char *)sheet->figures[i].role);
	}
	free(sheet->figures);
	free(sheet->values);
}

static uint64_t random_bits(void)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static double random_share(void)
{
	return (double)(random_bits() >> 11) / 9007199254740992.0;
}

/* Usual θ of such a tensor. */
static double usual_theta(const struct figure *figure)
{
	if (figure->klass == CLASS_ORGANS)
		return 36 + 9 * random_share();
	if (figure->klass == CLASS_EMBED)
		return 30 + 15 * random_share();
	if (figure->klass == CLASS_NORM)
		return 65 + 24 * random_share();
	if (strstr(figure->role, "_q") || strstr(figure->role, "_k"))
		return 45 + 20 * random_share();
	return 38 + 12 * random_share();
}

static void give_usual_values(struct sheet *sheet)
{
	free(sheet->values);
	sheet->values = calloc(sheet->n + 1, sizeof(*sheet->values));
	assert_non_null(sheet->values);
	for (size_t i = 0; i < sheet->n; i++) {
		const double theta = usual_theta(&sheet->figures[i]);

		sheet->figures[i].z = &sheet->values[i];
		sheet->values[i] = (struct zmeasure){
			.entropy = random_share(),
			.kurtosis = 20 * random_share() - 1,
			.spacing = random_share(),
			.signal = sin(theta * M_PI / 180),
			.theta = theta,
			.magnitude = random_share() - 0.5,
			.has_magnitude = true,
			.low_n = theta > 80,
		};
	}
}

static void give_hostile_values(struct sheet *sheet)
{
	for (size_t i = 0; i < sheet->n; i++) {
		struct zmeasure *z = &sheet->values[i];
		double *const numbers[] = { &z->entropy, &z->kurtosis, &z->spacing,  &z->s_entropy,
					    &z->signal,	 &z->theta,    &z->magnitude };

		for (size_t k = 0; k < ARRAY_LENGTH(numbers); k++) {
			const uint64_t bits = random_bits();

			switch (random_bits() % 4) {
			case 0:
				memcpy(numbers[k], &bits, sizeof(bits));
				break;
			case 1:
				*numbers[k] = (double[]){ (double)NAN, (double)INFINITY, -0.0,
							  -1e300 }[bits % 4];
				break;
			default:
				*numbers[k] = 200 * random_share() - 50;
			}
		}
		z->status = (enum zmeasure_status)(random_bits() % (ZMEASURE_NONFINITE + 3));
		z->has_magnitude = random_bits() & 1;
		z->low_n = random_bits() & 1;
		sheet->figures[i].importance = z->magnitude;
		sheet->figures[i].z = random_bits() % 8 ? z : NULL;
	}
}

static char *draw(const struct sheet *sheet, const char *name, size_t *size)
{
	const struct figures figures = {
		.n = sheet->n,
		.figures = sheet->figures,
		.n_removed = sheet->n_removed,
		.removed = sheet->figures ? sheet->figures + sheet->n : NULL,
	};
	const struct picture_model model = { name, "llama, of some blocks", &figures };
	const struct picture picture = { .models = { model, model }, .n = sheet->twice ? 2 : 1 };
	char *text = NULL;
	FILE *out = open_memstream(&text, size);

	assert_non_null(out);
	assert_int_equal(picture_draw(&picture, out), 0);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(strlen(text), *size);
	return text;
}

/* ## models */

static const char *const llama[] = { "attn_norm", "attn_q",   "attn_k",	  "attn_v", "attn_output",
				     "ffn_norm",  "ffn_gate", "ffn_down", "ffn_up" };
static const char *const biases[] = { "attn_q.bias", "attn_k.bias", "attn_v.bias" };
static const char *const attention[] = { "attn_norm", "attn_q_a",      "attn_q_a_norm",
					 "attn_q_b",  "attn_kv_a_mqa", "attn_kv_a_norm",
					 "attn_kv_b", "attn_output",   "ffn_norm" };
static const char *const experts[] = { "ffn_gate_inp",	 "exp_probs_b", "ffn_gate_exps",
				       "ffn_down_exps",	 "ffn_up_exps", "ffn_gate_shexp",
				       "ffn_down_shexp", "ffn_up_shexp" };

static void add_roles(struct sheet *sheet, const char *const *roles, size_t n, int32_t block)
{
	for (size_t i = 0; i < n; i++) {
		enum organ_class klass = CLASS_SKELETON;

		if (strstr(roles[i], "norm"))
			klass = CLASS_NORM;
		else if (!strncmp(roles[i], "ffn", 3) || !strncmp(roles[i], "exp", 3))
			klass = CLASS_ORGANS;
		add(sheet, roles[i], klass, block);
	}
}

static void add_ends(struct sheet *sheet, bool tied)
{
	add(sheet, "token_embd", CLASS_EMBED, -1);
	add(sheet, "output_norm", CLASS_EMBED, -1);
	if (!tied)
		add(sheet, "output", CLASS_EMBED, -1);
}

static struct sheet dense(int32_t blocks, bool biased)
{
	struct sheet sheet = { 0 };

	add_ends(&sheet, biased);
	for (int32_t block = 0; block < blocks; block++) {
		add_roles(&sheet, llama, ARRAY_LENGTH(llama), block);
		if (biased)
			add_roles(&sheet, biases, ARRAY_LENGTH(biases), block);
	}
	return sheet;
}

static struct sheet moe(void)
{
	struct sheet sheet = { 0 };

	add_ends(&sheet, false);
	for (int32_t block = 0; block < 61; block++) {
		add_roles(&sheet, attention, ARRAY_LENGTH(attention), block);
		if (block < 3)
			add_roles(&sheet, llama + 6, 3, block);
		else
			add_roles(&sheet, experts, ARRAY_LENGTH(experts), block);
		add(&sheet, "attn_k_b", CLASS_SKELETON, block);
		if (block < 10)
			add(&sheet, "indexer.attn_k", CLASS_SKELETON, block);
	}
	assert_int_equal(sheet.n, 1096);
	return sheet;
}

/* Figures with names, blocks and repetitions that no model has. */
static struct sheet hostile(size_t n)
{
	static const char *const roles[] = {
		"<&>\"'",
		"\x01\x1f\x7f\t\n\r",
		"\xff\xc0\x80\xed\xa0\x80\xf4\x90\x80\x80",
		"",
		"]]>",
		"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
	};
	struct sheet sheet = { 0 };
	char role[256];

	for (size_t i = 0; i < n; i++) {
		if (i % 7 < ARRAY_LENGTH(roles))
			snprintf(role, sizeof(role), "%s%u", roles[i % 7],
				 (unsigned)(random_bits() % (n / 8 + 1)));
		else
			snprintf(role, sizeof(role), "%0200u", (unsigned)(i / 7 % 5));
		add(&sheet, role, (enum organ_class)(random_bits() % CLASSES),
		    i % 5 ? (int32_t)(random_bits() % 50 * 43383508) : -1);
	}
	if (n)
		sheet.figures[n - 1].block = INT32_MAX;
	return sheet;
}

/* ## tests */

static void assert_same_length_always(struct sheet *sheet)
{
	size_t size, other;

	for (size_t i = 0; i < sheet->n; i++)
		sheet->figures[i].z = NULL;
	free(draw(sheet, "model", &size));
	give_usual_values(sheet);
	free(draw(sheet, "model", &other));
	assert_int_equal(other, size);
	for (enum zmeasure_status status = 0; status <= ZMEASURE_NONFINITE; status++) {
		for (size_t i = 0; i < sheet->n; i++) {
			sheet->values[i].status = status;
			if (status == ZMEASURE_NONFINITE)
				sheet->values[i].theta = sheet->values[i].signal = (double)NAN;
		}
		free(draw(sheet, "model", &other));
		assert_int_equal(other, size);
	}
	/* One round with many figures replaces several rounds. */
	for (size_t round = 0, drawn = 0; round < 20 && drawn < 2000; round++, drawn += sheet->n) {
		give_hostile_values(sheet);
		free(draw(sheet, "model", &other));
		assert_int_equal(other, size);
	}
	free_sheet(sheet);
}

static void values_do_not_change_the_length(void **state)
{
	struct sheet sheets[] = {
		{ 0 },		 dense(0, false),  dense(1, false), dense(5, false),
		dense(24, true), dense(24, false), moe(),	    dense(100, false),
		hostile(1),	 hostile(1000),
	};

	(void)state;
	add(&sheets[0], "output", CLASS_EMBED, -1);
	for (size_t i = 0; i < ARRAY_LENGTH(sheets); i++)
		assert_same_length_always(&sheets[i]);
}

static void no_tensors_make_a_picture(void **state)
{
	struct sheet sheet = { 0 };

	(void)state;
	assert_same_length_always(&sheet);
}

static size_t letters(const char *text)
{
	return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
}

/* Check that every '<' begins one of our tags and every '&' one of our five entities, that every
 * byte is an XML character, and that tags are balanced. */
static void assert_xml(const char *text)
{
	static const char *const entities[] = { "&lt;", "&gt;", "&amp;", "&quot;", "&#39;" };
	const char *open[8];
	size_t depth = 0;

	for (const char *s = text; *s; s++) {
		if (*s == '&') {
			bool known = false;

			for (size_t i = 0; i < ARRAY_LENGTH(entities); i++)
				known |= !strncmp(s, entities[i], strlen(entities[i]));
			assert_true(known);
		}
		assert_false((unsigned char)*s < 0x20 && *s != '\n');
		if (*s != '<')
			continue;
		if (s[1] == '/') {
			assert_true(depth > 0);
			depth--;
			assert_memory_equal(s + 2, open[depth], letters(open[depth]));
		} else {
			assert_true(depth < ARRAY_LENGTH(open));
			open[depth] = s + 1;
			assert_true(letters(open[depth]) > 0);
			s = strchr(s, '>');
			assert_non_null(s);
			depth += s[-1] != '/';
		}
	}
	assert_int_equal(depth, 0);
}

static void hostile_names_are_escaped(void **state)
{
	struct sheet sheet = hostile(600);
	char name[256];
	size_t size;
	char *text;

	(void)state;
	memset(name, 'W', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	memcpy(name, "<&>\"'\x02\xfe", 7);
	give_usual_values(&sheet);
	text = draw(&sheet, name, &size);
	assert_xml(text);
	assert_non_null(strstr(text, "&lt;&amp;&gt;&quot;&#39;\xef\xbf\xbd\xef\xbf\xbdWW"));
	assert_null(strstr(text, "\xff"));
	assert_null(strstr(text, "\xc0\x80"));
	assert_null(strstr(text, "\xed\xa0\x80"));
	assert_null(strstr(text, "\xf4\x90\x80\x80"));
	assert_non_null(strstr(text, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"));
	free(text);
	free_sheet(&sheet);
}

/* Widths of wide fonts in picture_text.c are hundredths of the letters' size. */
static void letters_have_the_width_of_wide_fonts(void **state)
{
	(void)state;
	assert_int_equal(picture_text_width("", 100), 0);
	assert_int_equal(picture_text_width("az09", 100), 4 * 65);
	assert_int_equal(picture_text_width("AYZ", 100), 3 * 80);
	assert_int_equal(picture_text_width("mW", 100), 2 * 100);
	assert_int_equal(picture_text_width("i.", 100), 2 * 37);
	assert_int_equal(picture_text_width("f-", 100), 2 * 46);
	assert_int_equal(picture_text_width("\xc3\xa9\xff", 100), 2 * 100);
	/* A width is rounded up to a pixel. */
	assert_int_equal(picture_text_width("A", 12), 10);
}

static void long_names_are_cut_but_whole_in_the_tooltip(void **state)
{
	struct sheet sheet = { 0 };
	char role[201];
	size_t size;
	char *text, *cut;

	(void)state;
	for (size_t i = 0; i < 200; i++)
		role[i] = (char)('a' + i % 26);
	role[200] = '\0';
	add(&sheet, role, CLASS_OTHER, 0);
	text = draw(&sheet, "model", &size);
	assert_non_null(strstr(text, role));
	cut = strstr(text, "\xe2\x80\xa6");
	assert_non_null(cut);
	assert_memory_equal(cut - 4, "efgh", 0);
	assert_non_null(strstr(cut, "opqr</text>"));
	free(text);
	free_sheet(&sheet);
}

static size_t count(const char *text, const char *what)
{
	size_t n = 0;

	for (text = strstr(text, what); text; text = strstr(text + 1, what))
		n++;
	return n;
}

/* Check the places "x y" of all cells: they are the only rects with a stroke after the header's. */
static void assert_places_of_their_own(const char *text, size_t n)
{
	static const char begin[] = "</title><rect x=\"";
	char(*places)[48] = calloc(n + 1, sizeof(*places));
	const char *const text_end = text + strlen(text);
	size_t found = 0;

	assert_non_null(places);
	/* A sanitizer's strstr() and sscanf() look for the end of the text each time. */
	while ((text = memmem(text, (size_t)(text_end - text), begin, sizeof(begin) - 1))) {
		unsigned long long x, y;
		char *end;

		x = strtoull(text + sizeof(begin) - 1, &end, 10);
		assert_memory_equal(end, "\" y=\"", 5);
		y = strtoull(end + 5, &end, 10);
		assert_true(*end == '"' && found < n);
		text = end;
		snprintf(places[found++], sizeof(*places), "%020llu %020llu", x, y);
	}
	assert_int_equal(found, n);
	qsort(places, n, sizeof(*places), (int (*)(const void *, const void *))strcmp);
	for (size_t i = 1; i < n; i++)
		assert_string_not_equal(places[i - 1], places[i]);
	free(places);
}

static void every_tensor_has_a_place_of_its_own(void **state)
{
	struct sheet sheets[] = { dense(24, true), moe(), hostile(2000), dense(0, false) };
	size_t size;
	char *text;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(sheets); i++) {
		give_usual_values(&sheets[i]);
		text = draw(&sheets[i], "model", &size);
		assert_xml(text);
		assert_places_of_their_own(text, sheets[i].n);
		free(text);
		free_sheet(&sheets[i]);
	}
}

static void blocks_with_gaps_stand_side_by_side(void **state)
{
	struct sheet sheet = { 0 };
	unsigned width;
	size_t size;
	char *text;

	(void)state;
	add(&sheet, "attn_q", CLASS_SKELETON, INT32_MAX);
	add(&sheet, "attn_q", CLASS_SKELETON, 7);
	add(&sheet, "attn_q", CLASS_SKELETON, 7);
	text = draw(&sheet, "model", &size);
	assert_int_equal(sscanf(strstr(text, " width=\""), " width=\"%u\"", &width), 1);
	assert_true(width < 1000);
	assert_true(strstr(text, ">7</text>") < strstr(text, ">2147483647</text>"));
	assert_int_equal(count(text, ">attn_q</text>"), 2);
	assert_places_of_their_own(text, 3);
	free(text);
	free_sheet(&sheet);
}

static void rows_have_one_order_for_any_file_order(void **state)
{
	static const char *const order[] = { ">attn_norm<",  ">attn_q<",      ">attn_k<",
					     ">attn_v<",     ">attn_output<", ">ffn_norm<",
					     ">ffn_gate<",   ">ffn_up<",      ">ffn_down<",
					     ">token_embd<", ">output_norm<", ">output<" };
	struct sheet sheet = dense(3, false);
	size_t size;
	char *text;
	const char *at;

	(void)state;
	for (size_t i = 0; i < sheet.n / 2; i++) {
		const struct figure figure = sheet.figures[i];

		sheet.figures[i] = sheet.figures[sheet.n - 1 - i];
		sheet.figures[sheet.n - 1 - i] = figure;
	}
	at = text = draw(&sheet, "model", &size);
	for (size_t i = 0; i < ARRAY_LENGTH(order); i++) {
		assert_int_equal(count(text, order[i]), 1);
		at = strstr(at, order[i]);
		assert_non_null(at);
	}
	free(text);
	free_sheet(&sheet);
}

static void means_and_tooltips_say_the_numbers(void **state)
{
	struct zmeasure values[] = {
		{ .theta = 30, .signal = 0.5, .kurtosis = -1.5, .entropy = 0.25 },
		{ .theta = 60, .signal = 0.75, .magnitude = -0.125, .has_magnitude = true },
		{ .status = ZMEASURE_NONFINITE, .theta = (double)NAN, .signal = (double)NAN },
	};
	struct sheet sheet = { 0 };
	size_t size;
	char *text;

	(void)state;
	for (int i = 0; i < 4; i++)
		add(&sheet, "ffn_up", CLASS_ORGANS, i);
	text = draw(&sheet, "model", &size);
	assert_non_null(strstr(text, "no θ is known"));
	free(text);
	for (size_t i = 0; i < ARRAY_LENGTH(values); i++)
		sheet.figures[i].z = &values[i];
	sheet.figures[0].elements = 3000;
	sheet.figures[1].elements = 1000;
	sheet.figures[1].importance = 0.0625;
	text = draw(&sheet, "model", &size);
	assert_non_null(strstr(text, "θ mean 45.00° over 2 tensors, 37.50° weighted by "
				     "elements; signal 0.625"));
	assert_non_null(strstr(text, "organs/blk_0_ffn_up.bin\nQ4_K, 3000 elements\nθ 30.00°, "
				     "signal 0.5000, status ok       \nentropy 0.2500, kurtosis "
				     "        -1.5, spacing            0, magnitude       -"));
	assert_non_null(strstr(text, "magnitude -0.1250            \nimportance       0.0625\n"));
	assert_int_equal(count(text, "importance"), 2);
	assert_non_null(strstr(text, "θ     -°, signal      -, status nonfinite"));
	assert_non_null(strstr(text, "θ     -°, signal      -, status undecoded"));
	free(text);
	free_sheet(&sheet);
}

static void colours_say_how_far_from_the_row(void **state)
{
	static const double thetas[] = { 40, 40.1, 39.9, 40, 0, 90 };
	struct zmeasure values[ARRAY_LENGTH(thetas)];
	struct sheet sheet = { 0 };
	size_t size;
	char *text;

	(void)state;
	for (int i = 0; i < 7; i++)
		add(&sheet, "ffn_up", CLASS_ORGANS, i);
	for (size_t i = 0; i < ARRAY_LENGTH(thetas); i++) {
		values[i] = (struct zmeasure){ .theta = thetas[i] };
		sheet.figures[i].z = &values[i];
	}
	text = draw(&sheet, "model", &size);
	assert_int_equal(count(text, "class=\"c6\" fill=\"#f1f1f1\" stroke=\"none\""), 4);
	assert_int_equal(count(text, "class=\"c0\" fill=\"#0b4f96\" stroke=\"none\""), 1);
	assert_int_equal(count(text, "class=\"cc\" fill=\"#9c3a02\" stroke=\"none\""), 1);
	assert_int_equal(count(text, "class=\"cv\" fill=\"#e4e4e4\" stroke=\"#bbb\""), 1);
	assert_int_equal(count(text, "- no values"), 1);
	assert_int_equal(count(text, "= constant"), 0);
	free(text);
	free_sheet(&sheet);
}

/* The legend's steps form one bar, in order, which overlaps no other. */
static void bars_lie_beside_each_other(void **state)
{
	struct sheet sheet = dense(2, false);
	unsigned long long x, width, next = 0;
	unsigned n = 0;
	char *text, *at;
	char klass;
	size_t size;

	(void)state;
	at = text = draw(&sheet, "model", &size);
	while ((at = strstr(at, "<rect class=\"c"))) {
		assert_int_equal(sscanf(at,
					"<rect class=\"c%c\" x=\"%llu\" y=\"%*u\" width=\"%llu\"",
					&klass, &x, &width),
				 3);
		assert_int_equal(klass, picture_style_class((int)n - GRID_STEPS, 0.0));
		if (n > 0)
			assert_int_equal(x, next);
		next = x + width;
		n++;
		at++;
	}
	assert_int_equal(n, 2 * GRID_STEPS + 1);
	/* The bar of angles stands beside that, in the same row. */
	at = strstr(text, "fill=\"url(#angle)\"");
	assert_non_null(at);
	while (strncmp(at, "<rect", 5) != 0)
		at--;
	assert_int_equal(sscanf(at, "<rect x=\"%llu\"", &x), 1);
	assert_true(x > next);
	free(text);
	free_sheet(&sheet);
}

/* The marks of changes, and their legend. */
static void grafts_are_marked(void **state)
{
	struct sheet sheet = dense(4, false);
	size_t size;
	char *text;

	(void)state;
	text = draw(&sheet, "model", &size);
	assert_int_equal(count(text, "cells from"), 0);
	assert_int_equal(count(text, "removed</text>"), 0);
	free(text);
	for (size_t i = 3; i < 7; i++)
		sheet.figures[i].changes = 1u << FIGURE_GRAFTED;
	for (size_t i = 3; i < 6; i++)
		sheet.figures[i].donor = i < 5 ? "/models/cl<e>rk.gguf" : "/models/parts/";
	sheet.figures[3].changes |= 1u << FIGURE_CONVERTED;
	sheet.figures[7].changes = 1u << FIGURE_MERGED;
	sheet.figures[8].changes = 1u << FIGURE_GRAFTED | 1u << FIGURE_ADDED;
	remove_last(&sheet);
	text = draw(&sheet, "model", &size);
	assert_xml(text);
	assert_non_null(strstr(text, ">2 cells from cl&lt;e&gt;rk</text>"));
	assert_non_null(strstr(text, ">1 cell from parts/</text>"));
	assert_non_null(strstr(text, ">2 from an unknown donor</text>"));
	assert_non_null(strstr(text, ">1 removed</text>"));
	assert_non_null(strstr(text, ">1 added</text>"));
	assert_non_null(strstr(text, ">1 of another type than the base</text>"));
	assert_non_null(strstr(text, ">1 merged with adapters</text>"));
	/* Each pattern is in its cell and in the legend. */
	assert_int_equal(count(text, " fill=\"url(#removed)\""), 2);
	assert_int_equal(count(text, "<rect class=\"is\""), 2);
	assert_int_equal(count(text, "<circle "), 2);
	assert_int_equal(count(text, "<path class=\"i ps\""), 2);
	assert_int_equal(count(text, "<path class=\"ps\""), 5 + 3);
	assert_int_equal(count(text, "\ngrafted from cl&lt;e&gt;rk\n"), 2);
	free(text);
	assert_same_length_always(&sheet);
}

static void two_models_stand_side_by_side(void **state)
{
	struct sheet few = dense(6, false), many = dense(60, true);
	size_t size;
	char *text;

	(void)state;
	few.twice = many.twice = true;
	text = draw(&few, "model", &size);
	assert_xml(text);
	assert_int_equal(count(text, ">attn_q</text>"), 1);
	assert_int_equal(count(text, ">difference (second − first)</text>"), 1);
	free(text);
	text = draw(&many, "model", &size);
	assert_xml(text);
	assert_int_equal(count(text, ">attn_q</text>"), 3);
	free(text);
	assert_same_length_always(&few);
	assert_same_length_always(&many);
}

static void ten_thousand_tensors_are_fast(void **state)
{
	struct sheet sheet = hostile(10000);
	struct timespec start, end;
	double ms = 1e9;
	size_t size;

	(void)state;
	give_usual_values(&sheet);
	/* The time limit holds with sanitizers on any machine: drawing is not quadratic. */
	for (int round = 0; round < 5 && ms >= 2000; round++) {
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
		free(draw(&sheet, "model", &size));
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
		ms = (double)(end.tv_sec - start.tv_sec) * 1e3 +
		     (double)(end.tv_nsec - start.tv_nsec) / 1e6;
	}
	print_message("10,000 tensors: %.1f ms\n", ms);
	assert_true(ms < 2000);
	free_sheet(&sheet);
}

static void out_of_memory_is_reported(void **state)
{
	struct sheet sheet = { 0 };
	struct figures figures = { .n = 3 };
	struct picture picture = { .models = { { "model", "", &figures } }, .n = 1 };
	char *text = NULL;
	size_t size;
	int rc;

	needs_failing_allocations();
	(void)state;
	add_ends(&sheet, false);
	sheet.figures[1].donor = "/models/donor.gguf";
	figures.figures = sheet.figures;
	for (uint64_t k = 1;; k++) {
		FILE *out = open_memstream(&text, &size);

		allocation_fails(k);
		rc = picture_draw(&picture, out);
		fclose(out);
		free(text);
		if (!allocation_failed())
			break;
		assert_int_equal(rc, -ENOMEM);
	}
	assert_int_equal(rc, 0);
	free_sheet(&sheet);
}

/* Subtitle and picture of a model; the caller frees the picture. */
static char *chart_of(struct model *model, char subtitle[PICTURE_SUBTITLE])
{
	struct figures *figures = figures_now(model);
	struct picture_grid grid;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	must(out);
	assert_int_equal(picture_grid_make(&grid, figures, NULL), 0);
	picture_subtitle(figures, &grid, subtitle);
	picture_grid_free(&grid);
	assert_int_equal(picture_print(figures, out), 0);
	assert_int_equal(fclose(out), 0);
	figures_free(figures);
	return text;
}

static void only_existing_blocks_have_columns(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	char subtitle[PICTURE_SUBTITLE];
	char *text = chart_of(o.model, subtitle);

	assert_string_equal(subtitle, "llama, block 0, 6 tensors");
	assert_non_null(strstr(text, ">llama, block 0, 6 tensors</text>"));
	assert_null(strstr(text, "removed</text>"));
	free(text);
	assert_int_equal(graft_remove(o.model, SMALL_UP), 0);
	text = chart_of(o.model, subtitle);
	assert_string_equal(subtitle, "llama, block 0, 5 tensors");
	assert_non_null(strstr(text, ">1 removed</text>"));
	free(text);
	close_model(&o);
}

static void empty_model_has_a_picture(void **state)
{
	struct mk_file file = mkgguf_finish(mkgguf_new(3));
	char subtitle[PICTURE_SUBTITLE], *text;
	struct opened o;

	save(state, "base.gguf", &file);
	mk_file_free(&file);
	o = open_model(state, "base.gguf");
	text = chart_of(o.model, subtitle);
	assert_string_equal(subtitle, "unknown, 0 tensors");
	free(text);
	close_model(&o);
}

UNIT_MAIN(temp_setup, temp_teardown)
