/* SPDX-License-Identifier: MIT */
/* test_report.c - fs/report/report.c: a report of constant length, whose numbers add up. */
#include "fs/lazy/memo.h"
#include "fs/report/report.h"
#include "tests/unit/measures.h"
#include "tests/unit/zinputs.h"

/* A model with every class and kind. */
static const struct {
	const char *name;
	uint32_t type;
} zoo[] = {
	{ "token_embd.weight", GGML_F32 },	    { "blk.0.attn_norm.weight", GGML_F32 },
	{ "blk.0.attn_q.weight", GGML_Q8_0 },	    { "blk.0.attn_k.weight", GGML_F16 },
	{ "blk.0.ffn_up.weight", GGML_Q4_0 },	    { "blk.1.ffn_gate_inp.weight", GGML_F32 },
	{ "blk.1.ffn_up_exps.weight", GGML_F16 },   { "blk.1.ffn_up_shexp.weight", GGML_F32 },
	{ "blk.1.ffn_norm.weight", GGML_F32 },	    { "output_norm.weight", GGML_F32 },
	{ "blk.1.attn_q.weight.lora_a", GGML_F16 }, { "stray\nwell", 4000000000u },
	{ "blk.1.attn_v.weight", GGML_Q8_1 },
};

#define ZOO 13

static struct opened open_zoo(void **state, size_t n)
{
	struct mkgguf *m = mkgguf_new(3);
	struct mk_file file;

	mkgguf_kv_string(m, "general.architecture", "x\nmean tensors 1");
	for (size_t i = 0; i < n; i++) {
		const uint64_t ne[] = { 32, 2 * i + 1 };

		mkgguf_tensor(m, zoo[i].name, zoo[i].type, 2, ne);
	}
	file = mkgguf_finish(m);
	save(state, "base.gguf", &file);
	mk_file_free(&file);
	return open_model(state, "base.gguf");
}

/* Text of the report; caller frees. */
static char *report_of(const struct figures *figures)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	must(out);
	assert_int_equal(report_print(figures, out), 0);
	must(fclose(out) == 0);
	assert_int_equal(strlen(text), size);
	return text;
}

/* Rest of the k-th line that begins so, or NULL. */
static const char *find_line(const char *text, const char *beginning, size_t k)
{
	while (text) {
		if (begins(text, beginning) && k-- == 0)
			return text + strlen(beginning);
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	return NULL;
}

static double number_in(const char *text, const char *beginning)
{
	const char *line = find_line(text, beginning, 0);

	if (!line)
		fail_msg("no line %s in %s", beginning, text);
	return strtod(line, NULL);
}

static const char *word_in(const char *line, size_t k, char word[256])
{
	word[0] = '\0';
	for (size_t i = 0; i <= k; i++) {
		line += strspn(line, " ");
		snprintf(word, 256, "%.*s", (int)strcspn(line, " \n"), line);
		line += strcspn(line, " \n");
	}
	return word;
}

static struct zmeasure random_z(uint32_t *seed)
{
	struct zmeasure z = z_with(lcg(seed) * 90);

	z.low_n = lcg(seed) < 0.5;
	z.status = lcg(seed) < 0.5 ? ZMEASURE_OK : ZMEASURE_CONSTANT;
	return lcg(seed) < 0.2 ? z_nonfinite() : z;
}

static void length_does_not_depend_on_any_measure(void **state)
{
	struct opened o = open_zoo(state, ZOO);
	struct figures *figures = figures_now(o.model);
	struct zmeasure z[ZOO];
	uint32_t seed = 3;
	char *unknown = report_of(figures);

	for (int round = 0; round < 200; round++) {
		char *text;

		for (size_t i = 0; i < ZOO; i++) {
			z[i] = random_z(&seed);
			if (round == 0)
				z[i] = z_nonfinite();
			if (round == 1)
				z[i] = z_with(90);
			if (round == 2)
				z[i] = z_with(0);
			figures->figures[i].z = round > 9 && lcg(&seed) < 0.2 ? NULL : &z[i];
		}
		text = report_of(figures);
		assert_int_equal(strlen(text), strlen(unknown));
		free(text);
	}
	free(unknown);
	figures_free(figures);
	close_model(&o);
}

static void every_line_is_a_remark_or_names_its_kind(void **state)
{
	static const char *const words[] = { "model ", "mean ", "class ", "kind ", "well " };
	struct opened o = open_zoo(state, ZOO);
	struct figures *figures = figures_now(o.model);
	char *text = report_of(figures);

	assert_int_equal(text[strlen(text) - 1], '\n');
	for (const char *at = text; *at; at = strchr(at, '\n') + 1) {
		bool known = *at == '#' || *at == '\n';

		for (size_t i = 0; i < ARRAY_LENGTH(words); i++)
			known = known || begins(at, words[i]);
		if (!known)
			fail_msg("%.60s", at);
	}
	assert_true(begins(text, "# organfs " ORGANFS_VERSION "\n"));
	assert_null(find_line(text, "mean tensors", 1));
	assert_null(find_line(text, "mean ", 2));
	free(text);
	figures_free(figures);
	close_model(&o);
}

/* Set distinct angles, in no order, and none for two tensors. */
static void give_angles(struct figures *figures, struct zmeasure *z)
{
	for (size_t i = 0; i < figures->n; i++) {
		z[i] = z_with(3 + (double)(i * 7 % figures->n) * 6.5);
		figures->figures[i].z = i == 5 ? NULL : &z[i];
		if (i == 2)
			z[i] = z_nonfinite();
	}
}

static bool has_theta(const struct figure *figure)
{
	return figure->z && !isnan(figure->z->theta);
}

#define assert_about(a, b, by) unit_assert_about(a, b, by, __FILE__, __LINE__)

static void unit_assert_about(double a, double b, double by, const char *file, int line)
{
	if (fabs(a - b) <= by)
		return;
	print_error("%g, not %g\n", a, b);
	_fail(file, line);
}

static void means_are_those_of_the_tensors_with_an_angle(void **state)
{
	struct opened o = open_zoo(state, ZOO);
	struct figures *figures = figures_now(o.model);
	struct zmeasure z[ZOO];
	double theta = 0, signal = 0, n = 0, weighted = 0, weighted_signal = 0, weight = 0;
	char *text, word[256];

	give_angles(figures, z);
	for (size_t i = 0; i < ZOO; i++) {
		const struct figure *f = &figures->figures[i];

		if (!has_theta(f))
			continue;
		n++;
		theta += f->z->theta;
		signal += f->z->signal;
		weight += (double)f->elements;
		weighted += (double)f->elements * f->z->theta;
		weighted_signal += (double)f->elements * f->z->signal;
	}
	text = report_of(figures);
	assert_about(number_in(text, "mean tensors "), theta / n, 0.00501);
	assert_about(number_in(text, "mean elements "), weighted / weight, 0.00501);
	assert_about(strtod(word_in(find_line(text, "mean tensors ", 0), 1, word), NULL),
		     signal / n, 0.0000501);
	assert_about(strtod(word_in(find_line(text, "mean elements ", 0), 1, word), NULL),
		     weighted_signal / weight, 0.0000501);
	assert_string_equal(word_in(find_line(text, "mean tensors ", 0), 3, word), "11");
	free(text);
	figures_free(figures);
	close_model(&o);
}

static void classes_say_the_least_the_mean_and_the_most(void **state)
{
	struct opened o = open_zoo(state, ZOO);
	struct figures *figures = figures_now(o.model);
	struct zmeasure z[ZOO];
	char *text, word[256], head[32];

	give_angles(figures, z);
	text = report_of(figures);
	for (enum organ_class klass = 0; klass < CLASSES; klass++) {
		double least = 90, most = 0, sum = 0, n = 0;
		const char *line;

		for (size_t i = 0; i < ZOO; i++) {
			const struct figure *f = &figures->figures[i];

			if (f->klass != klass || !has_theta(f))
				continue;
			least = fmin(least, f->z->theta);
			most = fmax(most, f->z->theta);
			sum += f->z->theta;
			n++;
		}
		snprintf(head, sizeof(head), "class %-9s", class_name(klass));
		line = find_line(text, head, 0);
		assert_non_null(line);
		assert_about(strtod(word_in(line, 1, word), NULL), least, 0.00501);
		assert_about(strtod(word_in(line, 2, word), NULL), sum / n, 0.00501);
		assert_about(strtod(word_in(line, 3, word), NULL), most, 0.00501);
	}
	free(text);
	figures_free(figures);
	close_model(&o);
}

static size_t sum_of(const char *text, const char *beginning)
{
	size_t sum = 0;
	const char *line;
	char word[256];

	for (size_t k = 0; (line = find_line(text, beginning, k)); k++)
		sum += strtoul(word_in(line, 1, word), NULL, 10);
	return sum;
}

static void every_tensor_counts_in_one_class_and_one_kind(void **state)
{
	for (size_t n = 0; n <= ZOO; n++) {
		struct opened o = open_zoo(state, n);
		struct figures *figures = figures_now(o.model);
		struct zmeasure z[ZOO];
		char *text;

		give_angles(figures, z);
		text = report_of(figures);
		assert_int_equal(sum_of(text, "class "), n);
		assert_int_equal(sum_of(text, "kind "), n);
		assert_true(number_in(text, "model tensors") == (double)n);
		free(text);
		figures_free(figures);
		close_model(&o);
	}
}

static void kinds_have_their_stars(void **state)
{
	static const struct {
		double theta;
		const char *stars;
	} rows[] = { { 0, "-" },   { 44.9, "-" },  { 45, "★" },	  { 74.9, "★" },
		     { 75, "★★" }, { 88.9, "★★" }, { 89, "★★★" }, { 90, "★★★" } };
	struct opened o = open_zoo(state, 1);
	struct figures *figures = figures_now(o.model);

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const struct zmeasure z = z_with(rows[i].theta);
		char *text, word[256];

		figures->figures[0].z = &z;
		text = report_of(figures);
		assert_string_equal(word_in(find_line(text, "kind embedding", 0), 3, word),
				    rows[i].stars);
		free(text);
	}
	figures_free(figures);
	close_model(&o);
}

/* ## wells */

static void wells_are_the_eight_lowest_from_the_lowest_on(void **state)
{
	struct opened o = open_zoo(state, ZOO);
	struct figures *figures = figures_now(o.model);
	struct zmeasure z[ZOO];
	char *text, word[256];
	double before = -1;

	give_angles(figures, z);
	text = report_of(figures);
	for (size_t k = 0; k < 8; k++) {
		const double theta = strtod(find_line(text, "well ", k), NULL);
		size_t lower = 0, found = ZOO;

		assert_true(theta > before);
		before = theta;
		word_in(find_line(text, "well ", k), 3, word);
		for (size_t i = 0; i < ZOO; i++)
			if (strcmp(figures->figures[i].file, word) == 0)
				found = i;
		assert_true(found < ZOO);
		assert_about(figures->figures[found].z->theta, theta, 0.00501);
		for (size_t i = 0; i < ZOO; i++)
			lower += has_theta(&figures->figures[i]) &&
				 figures->figures[i].z->theta < z[found].theta;
		assert_int_equal(lower, k);
		assert_string_equal(word_in(find_line(text, "well ", k), 1, word),
				    figures->figures[found].type);
		assert_string_equal(word_in(find_line(text, "well ", k), 2, word), "ok");
	}
	assert_null(find_line(text, "well ", 8));
	free(text);
	figures_free(figures);
	close_model(&o);
}

static void assert_well(const char *text, size_t k, const struct figure *figure, const char *theta)
{
	char word[256];

	assert_non_null(find_line(text, "well ", k));
	assert_string_equal(word_in(find_line(text, "well ", k), 0, word), theta);
	assert_string_equal(word_in(find_line(text, "well ", k), 3, word), figure->file);
}

static void wells_of_one_angle_stand_in_file_order_and_those_without_last(void **state)
{
	struct opened o = open_zoo(state, 6);
	struct figures *figures = figures_now(o.model);
	const struct zmeasure high = z_with(50), low = z_with(20), none = z_nonfinite();
	const struct figure *f = figures->figures;
	char *text;

	figures->figures[0].z = NULL;
	figures->figures[1].z = figures->figures[4].z = &high;
	figures->figures[2].z = figures->figures[5].z = &low;
	figures->figures[3].z = &none;
	text = report_of(figures);
	assert_well(text, 0, &f[2], "20.00");
	assert_well(text, 1, &f[5], "20.00");
	assert_well(text, 2, &f[1], "50.00");
	assert_well(text, 3, &f[4], "50.00");
	assert_well(text, 4, &f[0], "nan");
	assert_well(text, 5, &f[3], "nan");
	assert_null(find_line(text, "well ", 6));
	assert_non_null(strstr(text, " undecoded "));
	assert_non_null(strstr(text, " nonfinite "));
	free(text);
	figures_free(figures);
	close_model(&o);
}

static void fewer_than_eight_tensors_are_all_wells(void **state)
{
	for (size_t n = 0; n <= 9; n++) {
		struct opened o = open_zoo(state, n);
		struct figures *figures = figures_now(o.model);
		size_t wells = 0;
		char *text = report_of(figures);

		while (find_line(text, "well ", wells))
			wells++;
		assert_int_equal(wells, n < 8 ? n : 8);
		free(text);
		figures_free(figures);
		close_model(&o);
	}
}

static void tensors_of_few_or_non_finite_values_are_counted(void **state)
{
	struct opened o = open_zoo(state, ZOO);
	struct figures *figures = figures_now(o.model);
	struct zmeasure z[ZOO];
	char *text;

	give_angles(figures, z);
	z[7].low_n = z[8].low_n = true;
	text = report_of(figures);
	/* The non-finite tensor has few values too. */
	assert_non_null(strstr(text, "less than 512 values: 3 tensors.  "));
	assert_non_null(strstr(text, "not finite: 2 tensors.  "));
	free(text);
	figures_free(figures);
	close_model(&o);
}

static void without_memory_there_is_no_report(void **state)
{
	struct opened o;
	struct figures *figures;
	bool well = false;

	needs_failing_allocations();
	o = open_zoo(state, 2);
	figures = figures_now(o.model);
	for (uint64_t k = 1; !well; k++) {
		char *text = NULL;
		size_t size;
		FILE *out = open_memstream(&text, &size);
		int rc;

		allocation_fails(k);
		rc = report_print(figures, out);
		well = !allocation_failed();
		fclose(out);
		free(text);
		/* A report may lack the lines from metadata. */
		assert_true(rc == 0 || (rc == -ENOMEM && !well));
	}
	figures_free(figures);
	close_model(&o);
}

static void the_view_of_a_model_is_the_report_of_its_measures(void **state)
{
	struct opened o = open_zoo(state, ZOO);
	struct memo *measures = new_readings(o.model);
	struct figures *figures = figures_now(o.model);
	struct view *view = lazy_report_view(measures, figures_now(o.model), report_print);
	struct zmeasure z[ZOO];
	char *text = read_view(view), *expected;

	for (uint32_t i = 0; i < ZOO; i++)
		if (memo_get(measures, &(struct subject){ i, NULL }, NULL, &z[i]) == 0)
			figures->figures[i].z = &z[i];
	expected = report_of(figures);
	assert_string_equal(text, expected);
	assert_int_equal(memo_count(measures), ZOO);
	free(text);
	free(expected);
	figures_free(figures);
	view_unref(view);
	memo_free(measures);
	close_model(&o);
}

UNIT_MAIN(temp_setup, temp_teardown)
