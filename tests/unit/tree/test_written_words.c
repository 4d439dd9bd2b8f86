/* SPDX-License-Identifier: MIT */
/* test_written_words.c - fs/tree/written_words.c: words written through an open file, without
 * empty lines. */
#include "fs/tree/written_words.h"
#include "tests/unit/unit.h"

#include <errno.h>

/* Write the text in pieces of n bytes, and check the words. */
static void assert_words(const char *text, size_t n, const char *expected)
{
	struct written_words *words = written_words_new(WRITTEN_WORDS_MAX, true);
	const size_t length = strlen(text);
	char *taken;

	for (size_t at = 0; at < length; at += n) {
		const size_t part = length - at < n ? length - at : n;

		assert_int_equal(written_words_write(words, text + at, part, 100 + at), 0);
	}
	taken = written_words_take(words, true, &(size_t){ 0 });
	assert_string_equal(taken ? taken : "", expected);
	free(taken);
	assert_null(written_words_take(words, true, &(size_t){ 0 }));
	written_words_free(words);
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

static void nothing_written_gives_no_word(void **state)
{
	struct written_words *words = written_words_new(WRITTEN_WORDS_MAX, true);

	(void)state;
	assert_null(written_words_take(words, false, &(size_t){ 0 }));
	written_words_free(words);
	written_words_free(NULL);
}

static void assert_taken(struct written_words *words, bool all, const char *expected)
{
	size_t n = 0;
	char *taken = written_words_take(words, all, &n);

	if (expected) {
		assert_non_null(taken);
		assert_string_equal(taken, expected);
		assert_int_equal(n, strlen(expected));
	} else {
		assert_null(taken);
	}
	free(taken);
}

static void no_word_is_taken_after_a_refused_write(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
		uint64_t offset;
	} refused[] = { { "x", 1, 9 }, { "a\0b", 3, 4 } };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct written_words *words = written_words_new(WRITTEN_WORDS_MAX, i == 0);

		assert_int_equal(written_words_write(words, "all\n", 4, 0), 0);
		assert_int_equal(written_words_write(words, refused[i].bytes, refused[i].n,
						     refused[i].offset),
				 -EINVAL);
		assert_int_equal(written_words_write(words, "x", 1, 4), -EINVAL);
		assert_taken(words, true, NULL);
		written_words_free(words);
	}
}

static void a_line_counts_with_its_newline_or_at_the_release(void **state)
{
	struct written_words *words = written_words_new(WRITTEN_WORDS_MAX, true);

	(void)state;
	assert_int_equal(written_words_write(words, "organs/a\nmeta", 13, 0), 0);
	assert_taken(words, false, "organs/a\n");
	assert_taken(words, false, NULL);
	assert_int_equal(written_words_write(words, "x", 1, 0), -EINVAL);
	written_words_free(words);
	words = written_words_new(WRITTEN_WORDS_MAX, true);
	assert_int_equal(written_words_write(words, "organs/a\nmeta", 13, 0), 0);
	assert_taken(words, false, "organs/a\n");
	assert_int_equal(written_words_write(words, "data\n", 5, 13), 0);
	assert_taken(words, false, "metadata\n");
	assert_taken(words, true, NULL);
	/* The size of .undo, at which a process appends, has changed by then. */
	assert_int_equal(written_words_write(words, "all", 3, 7), 0);
	assert_taken(words, false, NULL);
	assert_taken(words, true, "all");
	assert_taken(words, true, NULL);
	written_words_free(words);
}

/* The first close comes before the recipe is complete. */
static void a_text_is_taken_whole_whenever_it_has_grown(void **state)
{
	struct written_words *words = written_words_new(WRITTEN_WORDS_MAX, false);

	(void)state;
	assert_int_equal(written_words_write(words, "# one", 5, 0), 0);
	assert_taken(words, false, "# one");
	assert_taken(words, false, NULL);
	assert_int_equal(written_words_write(words, "\ntwo\n", 5, 5), 0);
	assert_taken(words, false, "# one\ntwo\n");
	assert_taken(words, true, NULL);
	written_words_free(words);
}

static void no_word_is_taken_after_the_end(void **state)
{
	struct written_words *words = written_words_new(WRITTEN_WORDS_MAX, true);

	(void)state;
	assert_true(written_words_at_line(words));
	assert_int_equal(written_words_write(words, "al", 2, 0), 0);
	assert_false(written_words_at_line(words));
	assert_int_equal(written_words_write(words, "l\n", 2, 2), 0);
	assert_true(written_words_at_line(words));
	written_words_end(words, -ECANCELED);
	assert_int_equal(written_words_write(words, "norm\n", 5, 4), -ECANCELED);
	assert_taken(words, true, NULL);
	written_words_free(words);
}

static void too_many_words_are_refused(void **state)
{
	struct written_words *words = written_words_new(WRITTEN_WORDS_MAX, true);
	char *text = malloc(WRITTEN_WORDS_MAX);

	(void)state;
	memset(text, 'x', WRITTEN_WORDS_MAX);
	assert_int_equal(written_words_write(words, text, WRITTEN_WORDS_MAX, 0), 0);
	assert_int_equal(written_words_write(words, "x", 1, WRITTEN_WORDS_MAX), -EFBIG);
	assert_null(written_words_take(words, true, &(size_t){ 0 }));
	written_words_free(words);
	/* The limit does not count comments. */
	words = written_words_new(WRITTEN_WORDS_MAX, true);
	text[0] = '#';
	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(written_words_write(words, text, WRITTEN_WORDS_MAX,
						     i * WRITTEN_WORDS_MAX),
				 0);
	assert_null(written_words_take(words, true, &(size_t){ 0 }));
	free(text);
	written_words_free(words);
}

static void word_without_memory_is_refused(void **state)
{
	struct written_words *words;

	(void)state;
	needs_failing_allocations();
	allocation_fails(1);
	assert_null(written_words_new(WRITTEN_WORDS_MAX, true));
	words = written_words_new(WRITTEN_WORDS_MAX, true);
	allocation_fails(1);
	assert_int_equal(written_words_write(words, "all", 3, 0), -ENOMEM);
	assert_null(written_words_take(words, true, &(size_t){ 0 }));
	written_words_free(words);
	/* Words for which there was no memory are taken later. */
	words = written_words_new(WRITTEN_WORDS_MAX, true);
	assert_int_equal(written_words_write(words, "all\n", 4, 0), 0);
	allocation_fails(1);
	assert_taken(words, false, NULL);
	assert_taken(words, true, "all\n");
	written_words_free(words);
}

UNIT_MAIN(NULL, NULL)
