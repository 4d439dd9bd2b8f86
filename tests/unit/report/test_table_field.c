/* SPDX-License-Identifier: MIT */
/* test_table_field.c - fs/report/table_field.c: printed fields read back, and other text is
 * refused. */
#include "fs/report/table_field.h"
#include "fs/util/text_escape.h"
#include "tests/unit/measures.h"
#include "tests/unit/zinputs.h"

/* A printed field; caller frees. */
static char *put(const char *bytes, size_t n)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	must(out);
	text_escape_print(bytes, n, TABLE_ENCODED, out);
	must(fclose(out) == 0);
	return text;
}

static void every_byte_reads_back(void **state)
{
	char bytes[256], *text;
	size_t n;

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)i;
	text = put(bytes, sizeof(bytes));
	assert_null(strpbrk(text, "\t\n"));
	assert_true(table_get(text, &n));
	assert_int_equal(n, sizeof(bytes));
	assert_memory_equal(text, bytes, n);
	free(text);
}

static void a_half_code_is_refused(void **state)
{
	static const char *const wrong[] = { "%", "a%", "%4", "%4g", "%g4", "%%41", "x%0" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
		char text[16];
		size_t n;

		snprintf(text, sizeof(text), "%s", wrong[i]);
		if (table_get(text, &n))
			fail_msg("%s is taken", wrong[i]);
	}
}

static void numbers_are_decimal_and_bounded(void **state)
{
	static const char *const wrong[] = { "",    " ",   "-1",
					     "+1",  "0x1", "1 ",
					     "1.5", "nan", "18446744073709551616" };
	uint64_t value;

	(void)state;
	assert_true(table_unsigned("  18446744073709551615", UINT64_MAX, &value));
	assert_true(value == UINT64_MAX);
	assert_true(table_unsigned("7", 7, &value));
	assert_false(table_unsigned("8", 7, &value));
	for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++)
		if (table_unsigned(wrong[i], UINT64_MAX, &value))
			fail_msg("%s is taken", wrong[i]);
}

static void reals_print_as_by_printf(void **state)
{
	static const char *const wrong[] = { "",       " ",   "0x1p3", "infinity", "NAN",
					     "nan(1)", "1 2", "1e",    "--1",	   "1x" };
	const double inf = (double)INFINITY;
	double value;

	(void)state;
	assert_true(table_real("   -1.5e-3", &value) && same_double(value, -1.5e-3));
	assert_true(table_real("nan", &value) && isnan(value));
	assert_true(table_real(" -nan", &value) && isnan(value));
	assert_true(table_real("-inf", &value) && same_double(value, -inf));
	for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++)
		if (table_real(wrong[i], &value))
			fail_msg("%s is taken", wrong[i]);
}

static void a_shape_has_one_to_four_axes(void **state)
{
	static const char *const wrong[] = {
		"",	"x",	     "3x",
		"x3",	"3x4x5x6x7", "-3",
		"3 x4", "3,4",	     "18446744073709551615x18446744073709551615"
	};
	uint64_t elements;

	(void)state;
	assert_true(table_shape("3", &elements) && elements == 3);
	assert_true(table_shape("3x4x5x6", &elements) && elements == 360);
	for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++)
		if (table_shape(wrong[i], &elements))
			fail_msg("%s is taken", wrong[i]);
}

/* Split a cell into its fields, in place. */
static void split(char *text, char *fields[THETA_EXACT_COLUMNS])
{
	text[strlen(text) - 1] = '\0';
	for (size_t i = 0; i < THETA_EXACT_COLUMNS; i++) {
		fields[i] = strsep(&text, "\t");
		assert_non_null(fields[i]);
	}
	assert_null(text);
}

/* Write and read z. */
static bool again(const struct zmeasure *z, struct zmeasure *read, bool *known)
{
	char text[LAZY_TEXT_CELL_MAX], *fields[THETA_EXACT_COLUMNS];

	theta_exact(text, sizeof(text), z);
	split(text, fields);
	return table_measure(fields, THETA_EXACT_COLUMNS, read, known);
}

static void measure_reads_back_with_all_significant_bits(void **state)
{
	uint32_t seed = 5;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		struct zmeasure z = z_with(lcg(&seed) * 90), read;
		bool known;

		z.signal = lcg(&seed);
		z.low_n = lcg(&seed) < 0.5;
		z.has_magnitude = lcg(&seed) < 0.9;
		z.nonfinite = (uint64_t)i;
		z.status = (enum zmeasure_status)(i % ZMEASURE_NONFINITE);
		assert_true(again(&z, &read, &known));
		assert_true(known && read.status == z.status && read.low_n == z.low_n);
		assert_true(same_double(read.theta, z.theta) && same_double(read.signal, z.signal));
		assert_true(read.has_magnitude == z.has_magnitude && read.sampled == z.sampled &&
			    read.nonfinite == z.nonfinite);
		assert_true(fabs(read.kurtosis - z.kurtosis) < 1e-8);
		assert_true(same_double(read.min, z.min) && same_double(read.max, z.max) &&
			    same_double(read.mean, z.mean) && same_double(read.zeros, z.zeros) &&
			    same_double(read.deviation, z.deviation));
	}
}

static void row_without_angle_reads_back(void **state)
{
	const struct zmeasure none = z_nonfinite();
	struct zmeasure read;
	bool known;

	(void)state;
	assert_true(again(&none, &read, &known));
	assert_true(known && read.status == ZMEASURE_NONFINITE && isnan(read.theta));
	assert_true(again(NULL, &read, &known));
	assert_false(known);
}

/* The table's version lacks these columns. */
static void row_of_older_version_has_no_value_figures(void **state)
{
	const struct zmeasure z = z_with(36);
	char text[LAZY_TEXT_CELL_MAX], *fields[THETA_EXACT_COLUMNS];
	struct zmeasure read;
	bool known;

	(void)state;
	theta_exact(text, sizeof(text), &z);
	split(text, fields);
	assert_true(table_measure(fields, THETA_EXACT_FIRST_COLUMNS, &read, &known));
	assert_true(same_double(read.theta, z.theta) && isnan(read.min) && isnan(read.max) &&
		    isnan(read.mean) && isnan(read.deviation) && isnan(read.zeros));
}

static void impossible_measure_is_refused(void **state)
{
	static const struct {
		size_t field;
		const char *value;
	} rows[] = { { 0, "90.001" }, { 0, "-0.001" },	  { 0, "nan" },	      { 0, "inf" },
		     { 0, "x" },      { 1, "1.001" },	  { 1, "nan" },	      { 3, "" },
		     { 6, "-1" },     { 7, "x" },	  { 8, "2" },	      { 9, "OK" },
		     { 9, "" },	      { 9, "nonfinite" }, { 9, "undecoded" }, { 10, "2.1" },
		     { 11, "" },      { 12, "x" },	  { 13, "-1" },	      { 14, "1.1" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const struct zmeasure z = z_with(36);
		char text[LAZY_TEXT_CELL_MAX], value[16], *fields[THETA_EXACT_COLUMNS];
		struct zmeasure read;
		bool known;

		theta_exact(text, sizeof(text), &z);
		split(text, fields);
		snprintf(value, sizeof(value), "%s", rows[i].value);
		fields[rows[i].field] = value;
		if (table_measure(fields, THETA_EXACT_COLUMNS, &read, &known))
			fail_msg("%s as field %zu is taken", value, rows[i].field);
	}
}

UNIT_MAIN(temp_setup, temp_teardown)
