/* SPDX-License-Identifier: MIT */
/* test_adapter_scale.c - fs/model/adapter_scale.c: texts of scales, read and shown, and texts that
 * are refused. */
#include "fs/model/adapter_scale.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <inttypes.h>

static void scale_reads_back_as_it_is_shown(void **state)
{
	static const struct {
		const char *text, *shown;
		uint32_t n;
	} cases[] = {
		{ "1", "1\n", 1 },
		{ " 0.50\n", "0.5\n", 1 },
		{ "0 0.5\t1 -.5", "0 0.5 1 -0.5\n", 4 },
		{ "[0,0.5 , 1]\n", "0 0.5 1\n", 3 },
		{ "[2]", "2\n", 1 },
		{ "1 norm=keep\n", "1 norm=keep\n", 1 },
		{ "[ 1, 0 ] norm=keep", "1 0 norm=keep\n", 2 },
		{ "[1]norm=keep", "1 norm=keep\n", 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct adapter_scale scale;
		char text[ADAPTER_TEXT_MAX];

		if (adapter_scale_parse(cases[i].text, strlen(cases[i].text), &scale, NULL) < 0)
			fail_msg("%s", cases[i].text);
		assert_int_equal(scale.n, cases[i].n);
		assert_int_equal(adapter_scale_print(&scale, text), strlen(cases[i].shown));
		assert_string_equal(text, cases[i].shown);
	}
}

static void longest_scale_fits_its_text(void **state)
{
	char text[ADAPTER_TEXT_MAX], shown[ADAPTER_TEXT_MAX];
	struct adapter_scale scale;
	size_t n = 0;

	(void)state;
	for (unsigned i = 0; i < ADAPTER_SCALE_NUMBERS; i++)
		n += (size_t)sprintf(text + n, "-1.18934775e-20 ");
	strcpy(text + n, "norm=keep\n");
	assert_int_equal(adapter_scale_parse(text, strlen(text), &scale, NULL), 0);
	adapter_scale_print(&scale, shown);
	assert_string_equal(shown, text);
}

static void other_texts_are_refused_at_their_place(void **state)
{
	static const struct {
		const char *text;
		uint64_t at;
		const char *why;
	} cases[] = {
		{ "", 0, "expected a number" },
		{ "x", 0, "" },
		{ "1 x", 2, "" },
		{ "1, 2", 1, "expected a number" },
		{ "1]", 0, "" },
		{ "[]", 1, "" },
		{ "[1 2]", 3, "a comma or" },
		{ "[1,]", 3, "expected a number" },
		{ "[1,", 2, "ends with" },
		{ "[", 0, "ends with" },
		{ "[1]]", 1, "" },
		{ "[1] 2", 4, "ends with" },
		{ "inf", 0, "not a finite number" },
		{ "1 1e39", 2, "" },
		{ "norm=keep", 0, "" },
		{ "1 norm=keep 1", 2, "" },
		{ "1 norm=lose", 2, "" },
		{ "1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7 8 9 1 2 3 4 5 6", 64,
		  "at most 32 numbers" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct adapter_scale scale;
		struct error err = { 0 };

		assert_int_equal(adapter_scale_parse(cases[i].text, strlen(cases[i].text), &scale,
						     &err),
				 -EINVAL);
		if (err.offset != cases[i].at || !strstr(err.text, cases[i].why))
			fail_msg("%s: %s at %" PRIu64, cases[i].text, err.text, err.offset);
	}
	assert_false(adapter_scale_applies(&(struct adapter_scale){ .n = 2, .numbers = { 0 } }));
	assert_true(adapter_scale_applies(&(struct adapter_scale){ .n = 2, .numbers = { 0, 1 } }));
}

UNIT_MAIN(NULL, NULL)
