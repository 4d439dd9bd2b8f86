/* SPDX-License-Identifier: MIT */
/* test_progress_text.c - fs/util/progress_text.c: figures of every kind as text. */
#include "fs/util/progress_text.h"
#include "tests/unit/unit.h"

static void figures_stand_in_words_as_far_as_they_are_known(void **state)
{
	static const struct {
		uint64_t done, total;
		double seconds;
		const char *noun, *text;
	} cases[] = {
		{ 0, 1000000, 0, NULL, "0 %, 0 of 1 MB" },
		{ 430000000, 1000000000, 0.2, NULL, "43 %, 430 of 1000 MB" },
		{ 430000000, 1000000000, 2, NULL, "43 %, 430 of 1000 MB, 215 MB/s, 0:02 left" },
		{ 1000000000, 1000000000, 2, NULL, "100 %, 1000 of 1000 MB, 500 MB/s" },
		{ 999999999, 1000000000, 1, NULL, "99 %, 1000 of 1000 MB, 1000 MB/s, 0:00 left" },
		{ 30, 120, 60, "tensors", "25 %, 30 of 120 tensors, 3:00 left" },
		{ 0, 120, 60, "tensors", "0 %, 0 of 120 tensors" },
		{ 0, 0, 60, "tensors", "100 %, 0 of 0 tensors" },
		{ 1000000, UINT64_MAX, 1, NULL,
		  "0 %, 1 of 18446744073710 MB, 1 MB/s, 16666666:40 left" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		char text[160] = "";
		FILE *out = fmemopen(text, sizeof(text), "w");

		assert_non_null(out);
		progress_text(out, cases[i].done, cases[i].total, cases[i].seconds, cases[i].noun);
		fclose(out);
		assert_string_equal(text, cases[i].text);
	}
}

UNIT_MAIN(NULL, NULL)
