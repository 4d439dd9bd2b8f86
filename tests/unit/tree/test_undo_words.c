/* SPDX-License-Identifier: MIT */
/* test_undo_words.c - fs/tree/undo_words.c: what is written through one open file, less what says
 * nothing. */
#include "fs/tree/undo_words.h"
#include "tests/unit/unit.h"

#include <errno.h>

/* Written in pieces of n bytes. */
static void assert_words(const char *text, size_t n, const char *expected)
{
	struct undo_words *words = undo_words_new(UNDO_WORDS_MAX, true);
	const size_t length = strlen(text);
	char *taken;

	for (size_t at = 0; at < length; at += n) {
		const size_t part = length - at < n ? length - at : n;

		assert_int_equal(undo_words_write(words, text + at, part, 100 + at), 0);
	}
	taken = undo_words_take(words, false, &(size_t){ 0 });
	assert_non_null(taken);
	assert_string_equal(taken, expected);
	free(taken);
	assert_null(undo_words_take(words, false, &(size_t){ 0 }));
	undo_words_free(words);
}

static void lines_that_begin_with_a_hash_say_nothing(void **state)
{
	(void)state;
	for (size_t n = 1; n < 12; n++) {
		assert_words("all", n, "all");
		assert_words("# all\n", n, "");
		assert_words("# all\tx\n#\n##organs", n, "");
		assert_words("a\n# b\nc # d\n", n, "a\nc # d\n");
		assert_words("\n#\n\n #x", n, "\n\n #x");
	}
}

static void nothing_written_is_nothing(void **state)
{
	struct undo_words *words = undo_words_new(UNDO_WORDS_MAX, true);

	(void)state;
	assert_null(undo_words_take(words, false, &(size_t){ 0 }));
	undo_words_free(words);
	undo_words_free(NULL);
}

/* And what came before is not obeyed. */
static void what_is_refused_says_nothing(void **state)
{
	struct undo_words *words = undo_words_new(UNDO_WORDS_MAX, true);
	char *taken;

	(void)state;
	assert_int_equal(undo_words_write(words, "all\n", 4, 0), 0);
	assert_int_equal(undo_words_write(words, "x", 1, 9), -EINVAL);
	assert_int_equal(undo_words_write(words, "x", 1, 10), -EINVAL);
	assert_null(undo_words_take(words, false, &(size_t){ 0 }));
	assert_int_equal(undo_words_write(words, "a\0b", 3, 0), -EINVAL);
	assert_null(undo_words_take(words, false, &(size_t){ 0 }));
	/* The next text is another one. */
	assert_int_equal(undo_words_write(words, "norm", 4, 0), 0);
	taken = undo_words_take(words, false, &(size_t){ 0 });
	assert_string_equal(taken, "norm");
	free(taken);
	undo_words_free(words);
}

static void a_line_that_is_not_complete_waits_for_another_writer(void **state)
{
	struct undo_words *words = undo_words_new(UNDO_WORDS_MAX, true);
	char *taken;
	size_t n = 0;

	(void)state;
	assert_int_equal(undo_words_write(words, "organs/a\nmeta", 13, 0), 0);
	assert_null(undo_words_take(words, true, &n));
	assert_int_equal(undo_words_write(words, "data\n", 5, 13), 0);
	taken = undo_words_take(words, true, &n);
	assert_string_equal(taken, "organs/a\nmetadata\n");
	free(taken);
	assert_null(undo_words_take(words, false, &n));
	assert_int_equal(undo_words_write(words, "all", 3, 0), 0);
	taken = undo_words_take(words, false, &n);
	assert_string_equal(taken, "all");
	free(taken);
	undo_words_free(words);
}

/* One writes the first half of a recipe, and another one the second. */
static void a_text_is_given_again_with_what_comes(void **state)
{
	struct undo_words *words = undo_words_new(UNDO_WORDS_MAX, false);
	char *taken;
	size_t n = 0;

	(void)state;
	assert_int_equal(undo_words_write(words, "one\n", 4, 0), 0);
	taken = undo_words_take(words, true, &n);
	assert_string_equal(taken, "one\n");
	free(taken);
	assert_null(undo_words_take(words, true, &n));
	assert_int_equal(undo_words_write(words, "two\n", 4, 4), 0);
	taken = undo_words_take(words, true, &n);
	assert_int_equal(n, 8);
	assert_string_equal(taken, "one\ntwo\n");
	free(taken);
	assert_null(undo_words_take(words, false, &n));
	undo_words_free(words);
}

static void refused_words_say_nothing_until_they_are_taken(void **state)
{
	struct undo_words *words = undo_words_new(UNDO_WORDS_MAX, true);
	size_t n;
	char *text;

	(void)state;
	assert_true(undo_words_at_line(words));
	assert_int_equal(undo_words_write(words, "al", 2, 0), 0);
	assert_false(undo_words_at_line(words));
	assert_int_equal(undo_words_write(words, "l\n", 2, 2), 0);
	assert_true(undo_words_at_line(words));
	undo_words_refuse(words);
	assert_int_equal(undo_words_write(words, "norm\n", 5, 4), -ECANCELED);
	assert_null(undo_words_take(words, false, &n));
	assert_int_equal(undo_words_write(words, "norm\n", 5, 0), 0);
	text = undo_words_take(words, false, &n);
	assert_string_equal(text, "norm\n");
	free(text);
	undo_words_free(words);
}

static void there_is_an_end_to_words(void **state)
{
	struct undo_words *words = undo_words_new(UNDO_WORDS_MAX, true);
	char *text = malloc(UNDO_WORDS_MAX);

	(void)state;
	memset(text, 'x', UNDO_WORDS_MAX);
	assert_int_equal(undo_words_write(words, text, UNDO_WORDS_MAX, 0), 0);
	assert_int_equal(undo_words_write(words, "x", 1, UNDO_WORDS_MAX), -EFBIG);
	assert_null(undo_words_take(words, false, &(size_t){ 0 }));
	/* But not to comments. */
	text[0] = '#';
	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(undo_words_write(words, text, UNDO_WORDS_MAX, i * UNDO_WORDS_MAX),
				 0);
	free(undo_words_take(words, false, &(size_t){ 0 }));
	free(text);
	undo_words_free(words);
}

static void without_memory_it_is_refused(void **state)
{
	struct undo_words *words;

	(void)state;
	needs_failing_allocations();
	allocation_fails(1);
	assert_null(undo_words_new(UNDO_WORDS_MAX, true));
	words = undo_words_new(UNDO_WORDS_MAX, true);
	allocation_fails(1);
	assert_int_equal(undo_words_write(words, "all", 3, 0), -ENOMEM);
	assert_null(undo_words_take(words, false, &(size_t){ 0 }));
	undo_words_free(words);
}

UNIT_MAIN(NULL, NULL)
