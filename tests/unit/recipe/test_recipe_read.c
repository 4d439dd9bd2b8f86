/* SPDX-License-Identifier: MIT */
/* test_recipe_read.c - fs/recipe/recipe_read.c: YAML that is a recipe, and YAML that is none. */
#include "fs/recipe/recipe.h"
#include "tests/unit/a_recipe.h"
#include "tests/unit/unit.h"

#define HASH  "'0123456789abcdef0123456789abcdef'"
#define BEGIN "organfs: recipe 1\n"
#define BASE  BEGIN "base: {name: b.gguf, size: 5, fingerprint: " HASH "}\n"
#define DONOR BASE "donors: [{name: d, size: 1, fingerprint: " HASH "}]\n"

static void assert_not_read(const char *text, size_t n, const char *says)
{
	struct recipe recipe;
	struct error err = { 0 };
	const int rc = recipe_read(text, n, &recipe, &err);

	recipe_release(&recipe);
	assert_refused(rc, &err, EINVAL, ERROR_NO_OFFSET);
	if (!strstr(err.text, says))
		fail_msg("\"%s\" does not say \"%s\" of\n%s", err.text, says, text);
}

static void a_name_that_is_there_twice_is_refused(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ BASE "grafts: [{slot: a/b, how: removed}, {slot: a/c, how: removed},\n"
		       "  {slot: a/b, how: removed}]\n",
		  "\"a/b\" occurs twice" },
		{ BASE "metadata: [{key: k, value: '1'}, {key: k, value: '2'}]\n",
		  "\"k\" occurs twice" },
		{ BASE "merge: {config: c}\nmodels: [{model: m, donor: base},\n"
		       "  {model: m, donor: base}]\n",
		  "\"m\" occurs twice" },
		{ BASE "adapters: [{file: x.gguf}, {file: x.gguf}]\n", "\"x.gguf\" occurs twice" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
		assert_not_read(cases[i].text, strlen(cases[i].text), cases[i].says);
}

static void invalid_recipe_is_refused_with_line_and_column(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "", "line 1, column 1: expected a recipe" },
		{ "# nothing\n", "line 2, column 1: expected a recipe" },
		{ "[]", "line 1, column 1: expected \"organfs\"" },
		{ "model: x\n", "line 1, column 1: expected \"organfs\"" },
		{ "organfs: recipe 2\n",
		  "line 1, column 10: this organfs reads only \"recipe 1\": use a newer organfs" },
		{ BEGIN, "expected \"base\"" },
		{ BEGIN "grafts: []\n", "line 2, column 1: expected \"base\"" },
		{ BEGIN "base: x\n", "line 2, column 7: expected a mapping" },
		{ BEGIN "base: {}\n", "line 2, column 7: \"name\" is missing" },
		{ BASE "other: 1\n", "line 3, column 1: \"other\" is not a known key" },
		{ BASE "base: {}\n", "line 3, column 1: \"base\" occurs twice" },
		{ BASE "grafts: []\ndonors: []\n", "line 4, column 1: \"donors\" occurs twice" },
		{ BASE "grafts: {}\n", "line 3, column 9: expected a list" },
		{ BASE "grafts: [x]\n", "line 3, column 10: expected a mapping" },
		{ BASE "grafts: [{slot: a, slot: b}]\n", "column 20: \"slot\" occurs twice" },
		{ BASE "grafts: [{slot: [[[[a]]]]}]\n", "column 17: expected a value" },
		{ BASE "grafts: [{slot: &a b}]\n", "column 17: a recipe has no anchors" },
		{ BASE "grafts: [{slot: *a}]\n", "column 17: a recipe has no anchors" },
		{ BASE "grafts: [{slot: !!str a}]\n", "column 17: a recipe has no anchors" },
		{ BASE "grafts: !x []\n", "column 9: a recipe has no anchors" },
		{ BASE "grafts: [{? [a] : b}]\n", "expected a key" },
		{ BASE "? [a]\n: b\n", "line 3, column 3: expected a key" },
		{ BASE "grafts: [{slot: a, how: so}]\n", "column 25: expected copy" },
		{ BASE "grafts: [{slot: a, how: copy}]\n", "column 10: a copy needs" },
		{ BASE "grafts: [{slot: a, how: reference}]\n", "a reference needs" },
		{ BASE "grafts: [{slot: a, donor: 1}]\n", "column 27: expected \"base\" or" },
		{ DONOR "grafts: [{slot: a, donor: 0}]\n", "column 27: expected \"base\" or" },
		{ DONOR "grafts: [{slot: a, donor: 2}]\n", "of which there are 1" },
		{ BASE "grafts: [{slot: a, size: 9223372036854775808}]\n", "expected a number" },
		{ BASE "grafts: [{slot: a, size: 99999999999999999999999}]\n", "expected a" },
		{ BASE "grafts: [{slot: a, size: -1}]\n", "expected a number" },
		{ BASE "grafts: [{slot: a, size: ''}]\n", "expected a number" },
		{ BASE "grafts: [{slot: a, organ: 0123}]\n", "32 hexadecimal digits" },
		{ BASE "metadata: [{key: k}]\n", "a key needs either" },
		{ BASE "metadata: [{key: k, removed: no}]\n", "expected \"yes\"" },
		{ BASE "metadata: [{key: k, removed: yes, value: x}]\n", "a key needs either" },
		{ BASE "metadata: [{key: k, value: x, encoded: y}]\n", "\"encoded\" occurs twice" },
		{ BASE "metadata: [{key: k, value: \"a\\0b\"}]\n", "a text with a NUL" },
		{ BASE "metadata: [{key: \"a\\0b\", value: x}]\n", "must not hold a NUL" },
		{ BASE "---\n" BASE, "expected the end" },
		{ BASE "\t: x\n", "line 3, column 1" },
		{ "organfs: \xff\n", "line 1" },
		{ "organfs: \x01\n", "line 1" },
		{ "&a [*a]", "line 1, column 1: a recipe has no anchors" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
		assert_not_read(cases[i].text, strlen(cases[i].text), cases[i].says);
}

static void a_merge_has_a_configuration_and_models_that_are_donors(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ BASE "merge: {}\n", "a merge needs \"config\"" },
		{ BASE "merge: {config: a, encoded: a}\n", "\"encoded\" occurs twice" },
		{ BASE "merge: {config: a}\nmodels: [{model: m}]\n", "\"donor\" is missing" },
		{ BASE "merge: {config: a}\nmodels: [{model: m, donor: 1}]\n", "there are 0" },
		{ BASE "models: [{model: m, donor: base}]\n", "\"models\" needs a \"merge\"" },
		{ BASE "grafts: []\nmerge: {config: a}\n", "\"merge\" occurs twice" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
		assert_not_read(cases[i].text, strlen(cases[i].text), cases[i].says);
}

static void a_recipe_that_is_cut_is_refused_or_a_shorter_one(void **state)
{
	struct recipe recipe, part;
	size_t size;
	char *text;

	(void)state;
	a_recipe(&recipe);
	text = a_recipe_text(&recipe, false, &size);
	for (size_t n = 0; n < size; n++) {
		struct error err = { 0 };
		const int rc = recipe_read(text, n, &part, &err);

		assert_true(rc == 0 || (rc == -EINVAL && strncmp(err.text, "line ", 5) == 0));
		recipe_release(&part);
	}
	free(text);
	recipe_release(&recipe);
}

static void a_text_of_brackets_or_of_too_many_bytes_ends_soon(void **state)
{
	const size_t n = RECIPE_MAX + 1;
	char *text = malloc(n);
	struct recipe recipe;
	struct error err = { 0 };

	(void)state;
	assert_non_null(text);
	memset(text, '[', n);
	assert_int_equal(recipe_read(text, n, &recipe, &err), -EFBIG);
	assert_int_equal(recipe_read(text, n - 1, &recipe, &err), -EINVAL);
	memset(text, '{', n);
	assert_int_equal(recipe_read(text, n - 1, &recipe, &err), -EINVAL);
	free(text);
}

static void without_memory_nothing_is_read(void **state)
{
	struct recipe recipe, again;
	struct error err = { 0 };
	size_t size;
	char *text;
	int rc;

	(void)state;
	needs_failing_allocations();
	a_recipe(&recipe);
	text = a_recipe_text(&recipe, false, &size);
	for (uint64_t k = 1;; k++) {
		allocation_fails(k);
		rc = recipe_read(text, size, &again, &err);
		recipe_release(&again);
		if (!allocation_failed())
			break;
		assert_refused(rc, &err, ENOMEM, ERROR_NO_OFFSET);
	}
	assert_int_equal(rc, 0);
	free(text);
	recipe_release(&recipe);
}

UNIT_MAIN(NULL, NULL)
