/* SPDX-License-Identifier: MIT */
/* test_json_out.c - fs/report/json_out.c: valid JSON of one width, for any numbers and texts. */
#include "fs/metadata/json_value.h"
#include "fs/report/json_out.h"
#include "fs/report/theta_mean.h"
#include "tests/unit/zmeasures.h"

#include <cjson/cJSON.h>

/* A stream, and its text. */
struct printed {
	struct json_out json;
	char *text;
	size_t size;
};

static void begin_print(struct printed *p)
{
	*p = (struct printed){ .text = NULL };
	p->json.out = open_memstream(&p->text, &p->size);
	must(p->json.out);
}

static void assert_printed(struct printed *p, const char *expected)
{
	must(fclose(p->json.out) == 0);
	assert_string_equal(p->text, expected);
	assert_false(p->json.failed);
	free(p->text);
}

/* Each of the 256 bytes is printed as by cJSON. */
static void every_byte_is_printed_as_json_string_prints_it(void **state)
{
	(void)state;
	for (int byte = 0; byte < 256; byte++) {
		const char bytes[] = { 'a', (char)byte, 'b' };
		char *expected = json_string(bytes, sizeof(bytes));
		struct printed p;

		begin_print(&p);
		json_out_bytes(&p.json, bytes, sizeof(bytes));
		assert_non_null(expected);
		assert_printed(&p, expected);
		free(expected);
	}
}

static void texts_are_escaped_and_none_is_null(void **state)
{
	struct printed p;

	(void)state;
	begin_print(&p);
	json_out_text(&p.json, "a\"b\\c\nd\x7f");
	json_out_bytes(&p.json, "\0\xff", 2);
	json_out_text(&p.json, NULL);
	json_out_text(&p.json, "");
	assert_printed(&p, "\"a\\\"b\\\\c\\nd\\u007f\"\"\xef\xbf\xbd\xef\xbf\xbd\"null\"\"");
}

static void numbers_have_fixed_width_and_nan_is_null(void **state)
{
	struct printed p;

	(void)state;
	begin_print(&p);
	json_out_theta(&p.json, 5.126);
	json_out_theta(&p.json, 90);
	json_out_theta(&p.json, -(double)NAN);
	json_out_signal(&p.json, 0.5);
	json_out_signal(&p.json, (double)INFINITY);
	json_out_real(&p.json, JSON_WIDTH(4), -4, -1.23456e-300);
	json_out_unsigned(&p.json, UINT64_MAX - 1, UINT64_MAX);
	json_out_unsigned(&p.json, 7, 7);
	assert_printed(&p, " 5.1390.00 null0.5000  null-1.235e-30018446744073709551614null");
}

static double number(const cJSON *object, const char *name)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);

	if (!cJSON_IsNumber(item))
		fail_msg("no number %s", name);
	return item->valuedouble;
}

static void assert_number(const cJSON *object, const char *name, double expected)
{
	if (fabs(number(object, name) - expected) > 1e-9)
		fail_msg("%s is %g", name, number(object, name));
}

static char *mean_text(const struct theta_mean *mean)
{
	struct printed p;

	begin_print(&p);
	json_out_mean(&p.json, mean, 300, UINT64_MAX);
	must(fclose(p.json.out) == 0);
	return p.text;
}

static void mean_has_the_format_of_reports(void **state)
{
	const struct zmeasure low = z_with(30), high = z_with(60);
	struct theta_mean mean = { 0 };
	cJSON *object;
	char *text;

	(void)state;
	theta_mean_add(&mean, &low, 100);
	theta_mean_add(&mean, &high, 200);
	theta_mean_add(&mean, NULL, 1000);
	text = mean_text(&mean);
	object = cJSON_ParseWithOpts(text, NULL, true);
	assert_non_null(object);
	assert_number(object, "tensors", 3);
	assert_number(object, "measured", 2);
	assert_number(object, "parameters", 300);
	assert_true(cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(object, "bytes")));
	assert_number(object, "least", 30);
	assert_number(object, "theta", 45);
	assert_number(object, "most", 60);
	assert_number(object, "signal", 0.683);
	assert_number(object, "theta_elements", 50);
	assert_number(object, "signal_elements", 0.744);
	cJSON_Delete(object);
	free(text);
}

static void mean_of_nothing_has_the_same_length(void **state)
{
	struct theta_mean none = { .tensors = 12 }, all = { 0 };
	const struct zmeasure z = z_with(9);
	char *unknown = mean_text(&none), *known;
	cJSON *object = cJSON_ParseWithOpts(unknown, NULL, true);

	(void)state;
	assert_non_null(object);
	assert_number(object, "measured", 0);
	assert_true(cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(object, "theta")));
	assert_true(cJSON_IsNull(cJSON_GetObjectItemCaseSensitive(object, "least")));
	for (int i = 0; i < 12; i++)
		theta_mean_add(&all, &z, 1);
	known = mean_text(&all);
	assert_int_equal(strlen(known), strlen(unknown));
	cJSON_Delete(object);
	free(known);
	free(unknown);
}

static void text_without_memory_marks_failure(void **state)
{
	struct printed p;

	(void)state;
	needs_failing_allocations();
	begin_print(&p);
	allocation_fails(1);
	json_out_text(&p.json, "\"");
	assert_true(allocation_failed());
	assert_true(p.json.failed);
	must(fclose(p.json.out) == 0);
	free(p.text);
}

UNIT_MAIN(NULL, NULL)
