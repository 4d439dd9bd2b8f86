/* SPDX-License-Identifier: MIT */
/* test_theta_text.c - fs/lazy/theta_text.c: a measure as text, of the same width for every
 * value. */
#include "fs/lazy/memo.h"
#include "fs/lazy/theta_text.h"
#include "tests/unit/measures.h"

#include <cjson/cJSON.h>

/* Extreme measures for widths: every status, both ends of every number, and no number. */
static struct zmeasure hard_indicators(size_t i)
{
	const double inf = (double)INFINITY, nan = (double)NAN;
	struct zmeasure z = z_with(36.07);

	switch (i) {
	case 0:
	case 1:
	case 2:
	case 3:
	case 4:
	case 5:
		z.status = (enum zmeasure_status)i;
		break;
	case 6:
		return z_nonfinite();
	case 7:
		z.kurtosis = 9.87654321e18;
		z.spacing = 1.23456789e18;
		break;
	case 8:
		z.kurtosis = -1.23456789e-15;
		z.spacing = 1.23456789e-300;
		break;
	case 9:
		z.kurtosis = -2;
		z.magnitude = -0.5;
		z.theta = 90;
		z.signal = z.entropy = 1;
		break;
	case 10:
		z.sampled = z.nonfinite = UINT64_MAX;
		z.low_n = true;
		break;
	case 11:
		z.has_magnitude = false;
		z.magnitude = 0;
		break;
	case 12:
		z = (struct zmeasure){ .status = ZMEASURE_ZERO };
		break;
	case 13:
		z.theta = z.signal = -nan;
		z.entropy = z.kurtosis = z.spacing = z.magnitude = -nan;
		break;
	case 14:
		z.kurtosis = z.spacing = -inf;
		break;
	case 15:
		z.theta = 89.999;
		z.entropy = 0;
		z.magnitude = -1e-9;
		break;
	default:
		z.theta = 1e-9;
		z.kurtosis = -1.23456789e9;
		break;
	}
	return z;
}

/* Expected text of the figures that describe the values. */
static struct zmeasure hard(size_t i)
{
	const double inf = (double)INFINITY, nan = (double)NAN;
	struct zmeasure z = hard_indicators(i);

	if (i % 4 == 1) {
		z.min = z.max = z.mean = z.deviation = z.zeros = -nan;
	} else if (i % 4 == 2) {
		z.min = z.mean = -inf;
		z.max = z.deviation = inf;
	} else if (i % 4 == 3) {
		z.min = z.mean = -1.23456789e-300;
		z.max = z.deviation = -1.23456789e300;
		z.zeros = 1 / 3.0;
	}
	return z;
}

#define HARD 17

static lazy_text_print_fn *const cells[] = { theta_degrees, theta_columns, theta_json,
					     theta_json_figures, theta_exact };

static void every_cell_has_one_width(void **state)
{
	(void)state;
	for (size_t c = 0; c < ARRAY_LENGTH(cells); c++) {
		char text[LAZY_TEXT_CELL_MAX];
		const int width = cells[c](text, sizeof(text), NULL);

		assert_between(width, 1, LAZY_TEXT_CELL_MAX - 1);
		assert_int_equal(strlen(text), width);
		for (size_t i = 0; i < HARD; i++) {
			const struct zmeasure z = hard(i);

			if (cells[c](text, sizeof(text), &z) != width)
				fail_msg("cell %zu of measure %zu: %s", c, i, text);
			assert_int_equal(strlen(text), width);
		}
	}
}

static void every_status_has_a_word(void **state)
{
	static const char *const words[] = {
		"ok", "constant", "zero", "short", "spike", "nonfinite"
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(words); i++) {
		const struct zmeasure z = { .status = (enum zmeasure_status)i };

		assert_string_equal(theta_status(&z), words[i]);
	}
	assert_string_equal(theta_status(NULL), "undecoded");
}

static void degrees_have_two_places_or_are_not_a_number(void **state)
{
	const struct zmeasure bell = z_with(36.07), right = z_with(90), none = z_nonfinite();
	char text[16];

	(void)state;
	assert_int_equal(theta_degrees(text, sizeof(text), &bell), THETA_FILE_SIZE);
	assert_string_equal(text, "36.07\n");
	theta_degrees(text, sizeof(text), &right);
	assert_string_equal(text, "90.00\n");
	theta_degrees(text, sizeof(text), &none);
	assert_string_equal(text, "  nan\n");
	theta_degrees(text, sizeof(text), NULL);
	assert_string_equal(text, "  nan\n");
}

/* Figures of a tensor without values. */
#define UNKNOWN                                                                                   \
	"\t             nan\t             nan\t             nan\t             nan\t             " \
	"nan\n"

static void columns_are_those_of_the_header(void **state)
{
	struct zmeasure z = z_with(30);
	char text[LAZY_TEXT_CELL_MAX];

	(void)state;
	assert_string_equal(THETA_COLUMNS,
			    "theta\tsignal\tentropy\tkurtosis\tspacing\tmagnitude\tstatus\t"
			    "min\tmax\tmean\tdeviation\tzeros");
	theta_columns(text, sizeof(text), &z);
	assert_string_equal(text, "30.00\t0.50000\t0.500000\t         2.5\t        0.75\t"
				  "        0.250000\tok\t            -1.5\t               2\t"
				  "           0.125\t            0.75\t            0.25\n");
	z.status = ZMEASURE_CONSTANT;
	z.has_magnitude = false;
	theta_columns(text, sizeof(text), &z);
	assert_string_equal(text, "30.00\t0.50000\t0.500000\t         2.5\t        0.75\t"
				  "       nan\tconstant\t            -1.5\t               2\t"
				  "           0.125\t            0.75\t            0.25\n");
	z = z_nonfinite();
	theta_columns(text, sizeof(text), &z);
	assert_string_equal(text, "  nan\t    nan\t     nan\t         nan\t         nan\t"
				  "      nan\tnonfinite" UNKNOWN);
	theta_columns(text, sizeof(text), NULL);
	assert_string_equal(text, "  nan\t    nan\t     nan\t         nan\t         nan\t"
				  "      nan\tundecoded" UNKNOWN);
}

/* ## JSON */

static cJSON *parse_cell(lazy_text_print_fn *print, const struct zmeasure *z)
{
	char cell[LAZY_TEXT_CELL_MAX], text[LAZY_TEXT_CELL_MAX + 16];
	cJSON *object;

	print(cell, sizeof(cell), z);
	snprintf(text, sizeof(text), "{\"name\":\"x\"%s}", cell);
	object = cJSON_ParseWithOpts(text, NULL, true);
	if (!object)
		fail_msg("no JSON: %s", text);
	return object;
}

static const cJSON *member(const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	if (!item)
		fail_msg("there is no %s", key);
	return item;
}

static const char *const numbers[] = { "theta",	    "signal", "entropy", "kurtosis", "spacing",
				       "magnitude", "min",    "max",	 "mean",     "deviation",
				       "zeros",	    "z_re",   "z_im" };

/* The last two figures are in the manifest only. */
#define FIGURES (ARRAY_LENGTH(numbers) - 2)

static void every_cell_is_json(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * HARD; i++) {
		const struct zmeasure z = hard(i / 2);
		const size_t n = i % 2 ? FIGURES : ARRAY_LENGTH(numbers);
		cJSON *object = parse_cell(i % 2 ? theta_json_figures : theta_json, &z);

		assert_int_equal(cJSON_GetArraySize(object), 1 + n + 4);
		for (size_t k = 0; k < n; k++)
			assert_true(cJSON_IsNumber(member(object, numbers[k])) ||
				    cJSON_IsNull(member(object, numbers[k])));
		assert_true(cJSON_IsNumber(member(object, "sampled")));
		assert_true(cJSON_IsNumber(member(object, "nonfinite")));
		assert_int_equal(cJSON_IsTrue(member(object, "low_n")), z.low_n);
		assert_string_equal(member(object, "status")->valuestring, theta_status(&z));
		cJSON_Delete(object);
	}
}

#define assert_near(object, key, value) \
	assert_true(fabs(member(object, key)->valuedouble - (value)) < 1e-6)

static void json_has_the_measured_values(void **state)
{
	const struct zmeasure z = z_with(30);
	cJSON *object = parse_cell(theta_json, &z);

	(void)state;
	assert_near(object, "theta", 30);
	assert_near(object, "signal", 0.5);
	assert_near(object, "entropy", 0.5);
	assert_near(object, "kurtosis", 2.5);
	assert_near(object, "spacing", 0.75);
	assert_near(object, "magnitude", 0.25);
	assert_near(object, "z_re", 0.25 * sqrt(3) / 2);
	assert_near(object, "z_im", 0.125);
	assert_near(object, "sampled", 1000);
	assert_near(object, "nonfinite", 0);
	assert_near(object, "min", -1.5);
	assert_near(object, "max", 2);
	assert_near(object, "mean", 0.125);
	assert_near(object, "deviation", 0.75);
	assert_near(object, "zeros", 0.25);
	cJSON_Delete(object);
}

static void json_knows_no_nan(void **state)
{
	const struct zmeasure none = z_nonfinite();
	struct zmeasure flat = z_with(30);
	cJSON *object = parse_cell(theta_json, &none);

	(void)state;
	for (size_t k = 0; k < ARRAY_LENGTH(numbers); k++)
		assert_true(cJSON_IsNull(member(object, numbers[k])));
	assert_near(object, "nonfinite", 3);
	cJSON_Delete(object);
	object = parse_cell(theta_json, NULL);
	for (size_t k = 0; k < ARRAY_LENGTH(numbers); k++)
		assert_true(cJSON_IsNull(member(object, numbers[k])));
	assert_near(object, "sampled", 0);
	assert_string_equal(member(object, "status")->valuestring, "undecoded");
	cJSON_Delete(object);
	flat.has_magnitude = false;
	object = parse_cell(theta_json, &flat);
	assert_near(object, "theta", 30);
	assert_true(cJSON_IsNull(member(object, "magnitude")));
	assert_true(cJSON_IsNull(member(object, "z_re")));
	assert_true(cJSON_IsNull(member(object, "z_im")));
	cJSON_Delete(object);
}

/* JSON and attributes have the same text, so that programs can compare them. */
static void figures_in_json_are_those_of_attributes(void **state)
{
	struct zmeasure z = z_with(36.066);
	char cell[LAZY_TEXT_CELL_MAX], figure[32], expected[64];

	(void)state;
	z.kurtosis = -1.23456789012e-5;
	theta_json_figures(cell, sizeof(cell), &z);
	for (size_t k = 0; k < FIGURES; k++) {
		const char *at;

		theta_figure(numbers[k], &z, figure, sizeof(figure));
		snprintf(expected, sizeof(expected), "\"%s\":", numbers[k]);
		at = strstr(cell, expected);
		assert_non_null(at);
		at += strlen(expected);
		at += strspn(at, " ");
		if (strncmp(at, figure, strlen(figure)) != 0 || at[strlen(figure)] != ',')
			fail_msg("%s is not %s in %s", numbers[k], figure, cell);
	}
}

/* ## files */

static void the_file_of_an_organ_is_its_angle(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct memo *measures = new_readings(o.model);

	for (uint32_t i = 0; i < SMALL_TENSORS; i++) {
		const struct zmeasure z = z_of_slot(o.model, i);
		struct view *view = theta_file(measures, &(struct subject){ i, NULL });
		char *text, expected[16];

		assert_int_equal(view_size(view), THETA_FILE_SIZE);
		assert_int_equal(memo_count(measures), i);
		theta_degrees(expected, sizeof(expected), &z);
		text = read_view(view);
		assert_string_equal(text, expected);
		free(text);
		view_unref(view);
	}
	memo_free(measures);
	close_model(&o);
}

static struct view *table_now(struct model *model, struct memo *measures, enum organ_class klass)
{
	struct snapshot snapshot;
	struct view *view;

	must(slots_snapshot(model->slots, &snapshot) == 0);
	view = theta_table(model, measures, &snapshot, klass);
	snapshot_release(&snapshot);
	return view;
}

/* Expected table of these tensors of a model. */
static void expect_row(char *text, size_t n, struct model *model, uint32_t tensor, const char *head)
{
	const struct zmeasure z = z_of_slot(model, tensor);
	const size_t used = strlen(text);
	char cell[LAZY_TEXT_CELL_MAX];

	theta_columns(cell, sizeof(cell), &z);
	snprintf(text + used, n - used, "%s\t%s", head, cell);
}

static void a_table_has_a_row_for_each_tensor_of_its_class(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct memo *measures = new_readings(o.model);
	char expected[2048] = "file\ttype\telements\ttheta\tsignal\tentropy\tkurtosis\tspacing\t"
			      "magnitude\tstatus\tmin\tmax\tmean\tdeviation\tzeros\n";
	struct view *view;
	char *text;

	assert_int_equal(fill_organ(o.model, SMALL_DOWN, "graft", GGML_Q4_0, 2, small_blocks, 5),
			 0);
	expect_row(expected, sizeof(expected), o.model, SMALL_UP,
		   "organs/blk_0_ffn_up.bin\tF32\t32");
	expect_row(expected, sizeof(expected), o.model, SMALL_GATE,
		   "organs/blk_0_ffn_gate.bin\tF32\t32");
	expect_row(expected, sizeof(expected), o.model, SMALL_DOWN,
		   "organs/blk_0_ffn_down.bin\tQ4_0\t64");
	view = table_now(o.model, measures, CLASS_ORGANS);
	text = read_view(view);
	assert_string_equal(text, expected);
	assert_int_equal(memo_count(measures), 3);
	free(text);
	view_unref(view);
	memo_free(measures);
	close_model(&o);
}

static void expect_weight(const char *line, const char *weight)
{
	const char *end = strchr(line, '\n');

	assert_non_null(end);
	assert_memory_equal(end - strlen(weight), weight, strlen(weight));
}

static void a_table_ends_with_mean_weights_while_a_matrix_is_in_force(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct memo *measures = new_readings(o.model);
	struct view *before = table_now(o.model, measures, CLASS_ORGANS), *view;
	char *text, *without = read_view(before);

	use_importance(state, o.model);
	view = table_now(o.model, measures, CLASS_ORGANS);
	assert_int_equal(view_size(view), strlen(without) + strlen("\timportance") + 3 * 17);
	text = read_view(view);
	assert_memory_equal(text, THETA_HEADER_WEIGHED, strlen(THETA_HEADER_WEIGHED));
	expect_weight(strstr(text, "ffn_up"), "\t             1.5");
	expect_weight(strstr(text, "ffn_gate"), "\t             nan");
	free(text);
	text = read_view(before);
	assert_string_equal(text, without);
	free(text);
	free(without);
	view_unref(view);
	view_unref(before);
	memo_free(measures);
	close_model(&o);
}

static void a_class_without_tensors_has_a_header_alone(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct memo *measures = new_readings(o.model);
	struct view *view = table_now(o.model, measures, CLASS_ADAPTERS);
	char *text = read_view(view);

	assert_string_equal(text, THETA_HEADER);
	free(text);
	view_unref(view);
	memo_free(measures);
	close_model(&o);
}

static void part_of_a_table_measures_the_rows_it_touches(void **state)
{
	struct memo *measures;
	struct opened o;
	struct view *view;
	const size_t header = strlen(THETA_HEADER);
	size_t row;
	char *text, bytes[512];

	save_many(state, "base.gguf", 100);
	o = open_model(state, "base.gguf");
	measures = new_readings(o.model);
	view = table_now(o.model, measures, CLASS_ORGANS);
	text = read_view(view);
	row = (size_t)(strchr(text + header, '\n') - text) + 1 - header;
	memo_free(measures);
	view_unref(view);

	measures = new_readings(o.model);
	view = table_now(o.model, measures, CLASS_ORGANS);
	assert_int_equal(view_read(view, bytes, header + 10, 0), header + 10);
	assert_int_equal(memo_count(measures), 0);
	/* Read the last byte of the first row, and one row more: rows 0 to 9 have one width. */
	assert_int_equal(view_read(view, bytes, 1, header + row - 1), 1);
	assert_int_equal(memo_count(measures), 1);
	assert_int_equal(view_read(view, bytes, row + 1, header + 4 * row - 1), row + 1);
	assert_memory_equal(bytes, text + header + 4 * row - 1, row + 1);
	assert_int_equal(memo_count(measures), 3);
	free(text);
	view_unref(view);
	memo_free(measures);
	close_model(&o);
}

static void without_memory_there_is_no_file(void **state)
{
	struct opened o;
	struct memo *measures;
	struct snapshot snapshot;
	struct view *view;

	needs_failing_allocations();
	o = open_small(state, "base.gguf");
	measures = new_readings(o.model);
	must(slots_snapshot(o.model->slots, &snapshot) == 0);
	for (int table = 0; table < 2; table++) {
		for (uint64_t k = 1;; k++) {
			allocation_fails(k);
			view = table ? theta_table(o.model, measures, &snapshot, CLASS_ORGANS)
				     : theta_file(measures, &(struct subject){ SMALL_UP, NULL });
			if (!allocation_failed())
				break;
			assert_null(view);
		}
		assert_non_null(view);
		view_unref(view);
	}
	snapshot_release(&snapshot);
	memo_free(measures);
	close_model(&o);
}

/* ## figures by name */

static void a_figure_is_found_by_its_name(void **state)
{
	static const char *const names[] = { "theta",	"signal",    "entropy", "kurtosis",
					     "spacing", "magnitude", "min",	"max",
					     "mean",	"deviation", "zeros" };
	static const char *const values[] = { "30.00", "0.5", "0.5",   "2.5",  "0.75", "0.25",
					      "-1.5",  "2",   "0.125", "0.75", "0.25" };
	struct zmeasure z = z_with(30);
	char text[32];

	(void)state;
	z.signal = 0.5;
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		assert_true(theta_is_figure(names[i]));
		assert_int_equal(theta_figure(names[i], &z, text, sizeof(text)), strlen(values[i]));
		assert_string_equal(text, values[i]);
		/* theta_figure() returns the required length, like snprintf(). */
		assert_int_equal(theta_figure(names[i], &z, NULL, 0), strlen(values[i]));
	}
	z.kurtosis = -1.23456789012e-5;
	theta_figure("kurtosis", &z, text, sizeof(text));
	assert_string_equal(text, "-1.23456789e-05");
	assert_false(theta_is_figure("status"));
	assert_false(theta_is_figure("Theta"));
	assert_false(theta_is_figure("thet"));
	assert_false(theta_is_figure(""));
}

static void missing_figure_is_enodata(void **state)
{
	static const char *const names[] = { "theta",	 "signal",  "entropy",
					     "kurtosis", "spacing", "magnitude" };
	const struct zmeasure none = z_nonfinite();
	struct zmeasure flat = z_with(30);
	char text[32];

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		assert_int_equal(theta_figure(names[i], &none, text, sizeof(text)), -ENODATA);
		assert_int_equal(theta_figure(names[i], NULL, text, sizeof(text)), -ENODATA);
	}
	flat.has_magnitude = false;
	assert_int_equal(theta_figure("magnitude", &flat, text, sizeof(text)), -ENODATA);
	assert_int_equal(theta_figure("theta", &flat, text, sizeof(text)), 5);
	assert_int_equal(theta_figure("status", &flat, text, sizeof(text)), -ENODATA);
}

UNIT_MAIN(temp_setup, temp_teardown)
