/* SPDX-License-Identifier: MIT */
/* test_names.c - gguf/names.c: the index from names to numbers. */
#include "gguf/names.h"
#include "tests/unit/unit.h"

static void added_name_is_found(void **state)
{
	struct names *names = names_new(2);
	uint32_t value = 0;

	(void)state;
	assert_int_equal(names_add(names, "a", 1, 7), 0);
	assert_int_equal(names_add(names, "b", 1, UINT32_MAX), 0);
	assert_true(names_find(names, "a", 1, &value));
	assert_int_equal(value, 7);
	assert_true(names_find(names, "b", 1, &value));
	assert_int_equal(value, UINT32_MAX);
	names_free(names);
}

static void absent_name_is_not_found(void **state)
{
	struct names *names = names_new(0);
	uint32_t value = 5;

	(void)state;
	assert_false(names_find(names, "a", 1, &value));
	assert_int_equal(names_add(names, "ab", 2, 1), 0);
	assert_false(names_find(names, "a", 1, &value));
	assert_false(names_find(names, "abc", 3, &value));
	assert_false(names_find(names, "AB", 2, &value));
	assert_false(names_find(names, "", 0, &value));
	assert_int_equal(value, 5);
	names_free(names);
}

static void a_second_of_a_name_is_refused_and_the_first_stays(void **state)
{
	struct names *names = names_new(1);
	uint32_t value;

	(void)state;
	assert_int_equal(names_add(names, "a", 1, 1), 0);
	assert_int_equal(names_add(names, "a", 1, 2), -EEXIST);
	assert_true(names_find(names, "a", 1, &value));
	assert_int_equal(value, 1);
	names_free(names);
}

static void names_are_bytes(void **state)
{
	struct names *names = names_new(4);
	uint32_t value;

	(void)state;
	assert_int_equal(names_add(names, "", 0, 1), 0);
	assert_int_equal(names_add(names, "\0", 1, 2), 0);
	assert_int_equal(names_add(names, "a\0b", 3, 3), 0);
	assert_int_equal(names_add(names, "a\0c", 3, 4), 0);
	assert_int_equal(names_add(names, "", 0, 9), -EEXIST);
	assert_true(names_find(names, "", 0, &value));
	assert_int_equal(value, 1);
	assert_true(names_find(names, "a\0c", 3, &value));
	assert_int_equal(value, 4);
	assert_false(names_find(names, "a", 1, &value));
	names_free(names);
}

enum { MANY = 20000, EACH = 8 };

static char *many_names(void)
{
	char *text = calloc(MANY, EACH);

	assert_non_null(text);
	for (int i = 0; i < MANY; i++)
		snprintf(text + i * EACH, EACH, "n%d", i);
	return text;
}

static void index_grows_past_its_expected_size(void **state)
{
	struct names *names = names_new(0);
	char *text = many_names();
	uint32_t value;

	(void)state;
	for (uint32_t i = 0; i < MANY; i++)
		assert_int_equal(names_add(names, text + i * EACH, strlen(text + i * EACH), i), 0);
	for (uint32_t i = 0; i < MANY; i++) {
		assert_true(names_find(names, text + i * EACH, strlen(text + i * EACH), &value));
		assert_int_equal(value, i);
	}
	assert_false(names_find(names, "n20000", 6, &value));
	names_free(names);
	free(text);
}

static void nothing_can_be_freed(void **state)
{
	(void)state;
	names_free(NULL);
}

static void index_of_expected_size_does_not_grow(void **state)
{
	size_t grew_at = 0;
	char *text;

	(void)state;
	needs_failing_allocations();
	text = many_names();
	for (size_t expected = 1; expected <= 70 && !grew_at; expected++) {
		struct names *names = names_new(expected);

		allocation_fails(1);
		for (uint32_t i = 0; i < expected; i++)
			if (names_add(names, text + i * EACH, strlen(text + i * EACH), i) < 0)
				grew_at = expected;
		allocation_failed();
		names_free(names);
	}
	free(text);
	assert_int_equal(grew_at, 0);
}

static void a_failed_allocation_leaves_the_index_whole(void **state)
{
	struct names *names;
	uint32_t value, n = 0;
	char *text;

	(void)state;
	needs_failing_allocations();
	text = many_names();
	for (uint64_t k = 1; k <= 2; k++) {
		allocation_fails(k);
		assert_null(names_new(100));
		assert_true(allocation_failed());
	}
	names = names_new(0);
	allocation_fails(1);
	while (names_add(names, text + n * EACH, strlen(text + n * EACH), n) == 0)
		n++;
	assert_true(allocation_failed());
	assert_false(names_find(names, text + n * EACH, strlen(text + n * EACH), &value));
	assert_int_equal(names_add(names, text + n * EACH, strlen(text + n * EACH), n), 0);
	for (uint32_t i = 0; i <= n; i++) {
		assert_true(names_find(names, text + i * EACH, strlen(text + i * EACH), &value));
		assert_int_equal(value, i);
	}
	names_free(names);
	free(text);
}

static void names_have_an_order(void **state)
{
	(void)state;
	assert_int_equal(names_compare("blk.1", 5, "blk.1", 5), 0);
	assert_true(names_compare("blk.1", 5, "blk.10", 6) < 0);
	assert_true(names_compare("blk.10", 6, "blk.1", 5) > 0);
	assert_true(names_compare("blk.2", 5, "blk.10", 6) > 0);
	assert_true(names_compare("a\xff", 2, "ab", 2) > 0);
	assert_true(names_compare("", 0, "a", 1) < 0);
}

UNIT_MAIN(NULL, NULL)
