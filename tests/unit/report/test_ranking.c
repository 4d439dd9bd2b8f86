/* SPDX-License-Identifier: MIT */
/* test_ranking.c - fs/report/ranking.c: order, least squares, ranges, and a constant length. */
#include "fs/report/ranking.h"
#include "tests/unit/temp_dir.h"

static void assert_near(double is, double expected, double by)
{
	if (!(fabs(is - expected) <= by))
		fail_msg("%.15g is not %.15g", is, expected);
}

static struct ranked model(const char *name, uint64_t parameters, double theta)
{
	struct ranked ranked = { .name = name, .parameters = parameters };
	const struct zmeasure z = { .theta = theta, .signal = sin(theta * M_PI / 180) };

	theta_mean_add(&ranked.all, isnan(theta) ? NULL : &z, parameters);
	theta_mean_add(&ranked.classes[CLASS_ORGANS], isnan(theta) ? NULL : &z, parameters);
	return ranked;
}

static char *print(const struct ranked *models, size_t n)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	must(out);
	assert_int_equal(ranking_print(models, n, out), 0);
	must(fclose(out) == 0);
	return text;
}

static void assert_says(const struct ranked *models, size_t n, const char *words)
{
	char *text = print(models, n);

	if (!strstr(text, words))
		fail_msg("\"%s\" is not in:\n%s", words, text);
	free(text);
}

static void points_on_a_line_give_that_line(void **state)
{
	const double x[] = { 1, 2, 4 }, up[] = { 5, 7, 11 }, down[] = { 1, 0, -2 };
	struct fitted_line line = ranking_fit_line(x, up, 3);

	(void)state;
	assert_near(line.slope, 2, 1e-12);
	assert_near(line.intercept, 3, 1e-12);
	assert_near(line.r, 1, 1e-12);
	line = ranking_fit_line(x, down, 3);
	assert_near(line.slope, -1, 1e-12);
	assert_near(line.r, -1, 1e-12);
}

static void scattered_points_give_the_least_squares(void **state)
{
	/* Computed by hand: means 3 and 4, sums of squares 10, products 8, 10. */
	const double x[] = { 1, 2, 3, 4, 5 }, y[] = { 2, 4, 3, 6, 5 };
	const struct fitted_line line = ranking_fit_line(x, y, 5);

	(void)state;
	assert_near(line.slope, 0.8, 1e-12);
	assert_near(line.intercept, 1.6, 1e-12);
	assert_near(line.r, 0.8, 1e-12);
	assert_int_equal(line.n, 5);
}

static void points_without_spread_give_no_line(void **state)
{
	const double same[] = { 3, 3, 3 }, y[] = { 1, 2, 3 };

	(void)state;
	assert_true(isnan(ranking_fit_line(same, y, 3).slope));
	assert_true(isnan(ranking_fit_line(same, y, 3).r));
	assert_true(isnan(ranking_fit_line(y, y, 1).slope));
	assert_true(isnan(ranking_fit_line(y, y, 0).slope));
	assert_near(ranking_fit_line(y, same, 3).slope, 0, 1e-12);
	assert_true(isnan(ranking_fit_line(y, same, 3).r));
}

static void the_highest_theta_comes_first_and_none_last(void **state)
{
	const struct ranked models[] = { model("low", 100, 20), model("none", 300, NAN),
					 model("high", 200, 80) };
	char *text = print(models, 3);
	const char *high = strstr(text, "  high\n"), *low = strstr(text, "  low\n");
	const char *none = strstr(text, "  none\n");

	(void)state;
	assert_true(high && low && none && high < low && low < none);
	assert_non_null(strstr(text, "model    1           80.00          80.00  0.9848"));
	assert_non_null(strstr(text, "model    3             nan            nan     nan"));
	free(text);
}

static void two_models_make_no_law(void **state)
{
	const struct ranked c = model("c", 400, 60);
	struct ranked models[] = { model("a", 100, 20), model("b", 200, 40), c };
	char *text;

	(void)state;
	text = print(models, 2);
	assert_null(strstr(text, "law "));
	assert_null(strstr(text, "scale: "));
	free(text);
	/* One of three models has no θ. */
	models[2].all.measured = 0;
	assert_says(models, 3, "law theta/tensors            -            -       -     2\n");
	models[2] = c;
	/* Each doubling adds 20 degrees. */
	assert_says(models, 3, "        28.85   1.000     3\n");
}

static void part_of_a_model_is_marked(void **state)
{
	struct ranked models[] = { model("a", 10, 36), model("b", 20, NAN) };

	(void)state;
	models[1].total = 7;
	assert_says(models, 2, "\n# b: only 1 of 7 tensors; not compared\n");
}

static void a_class_has_its_least_and_its_greatest(void **state)
{
	const struct ranked models[] = { model("middle", 1, 40), model("least", 1, 12.5),
					 model("most", 1, 77.25), model("none", 1, NAN) };

	(void)state;
	assert_says(models, 4, "class organs          4  12.50  least   77.25  most  \n");
	assert_says(models + 3, 1, "class organs          1    nan  -       nan  -   \n");
}

static void the_length_depends_on_no_figure(void **state)
{
	const double thetas[] = { NAN, 0, 5.5, 36, 89.999, 90 };
	struct ranked models[3];
	size_t length = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(thetas); i++) {
		char *text;

		for (size_t k = 0; k < 3; k++)
			models[k] = model(k ? k > 1 ? "c" : "a longer name" : "b", 7u << 10 * k,
					  thetas[(i + k) % ARRAY_LENGTH(thetas)]);
		text = print(models, 3);
		if (length == 0)
			length = strlen(text);
		assert_int_equal(strlen(text), length);
		free(text);
	}
}

UNIT_MAIN(temp_setup, temp_teardown)
