/* SPDX-License-Identifier: MIT */
/* test_arena.c - gguf/arena.c: copies that keep their address and their bytes. */
#include "gguf/arena.h"
#include "tests/unit/unit.h"

static void a_copy_is_the_bytes_and_a_nul(void **state)
{
	struct arena *arena = arena_new();
	const char *copy;

	(void)state;
	assert_non_null(arena);
	copy = arena_copy(arena, "a\0b", 3);
	assert_non_null(copy);
	assert_memory_equal(copy, "a\0b", 4);
	arena_free(arena);
}

static void no_bytes_are_an_empty_string(void **state)
{
	struct arena *arena = arena_new();

	(void)state;
	assert_string_equal(arena_copy(arena, NULL, 0), "");
	arena_free(arena);
}

static void many_copies_stay_whole(void **state)
{
	enum { COPIES = 20000 };
	struct arena *arena = arena_new();
	const char **copies = calloc(COPIES, sizeof(*copies));
	char text[16];

	(void)state;
	assert_non_null(copies);
	for (int i = 0; i < COPIES; i++) {
		snprintf(text, sizeof(text), "%d", i);
		copies[i] = arena_copy(arena, text, strlen(text));
		assert_non_null(copies[i]);
	}
	for (int i = 0; i < COPIES; i++) {
		snprintf(text, sizeof(text), "%d", i);
		assert_string_equal(copies[i], text);
	}
	free(copies);
	arena_free(arena);
}

/* The sizes are around one chunk, where the NUL no longer fits. */
static void copies_of_every_size_fit(void **state)
{
	static char bytes[70000];
	struct arena *arena = arena_new();

	(void)state;
	memset(bytes, 'x', sizeof(bytes));
	for (size_t n = 32000; n < 34000; n += 7) {
		const char *small = arena_copy(arena, bytes, 3);
		const char *large = arena_copy(arena, bytes, n);

		assert_int_equal(strlen(small), 3);
		assert_int_equal(strlen(large), n);
	}
	assert_int_equal(strlen(arena_copy(arena, bytes, sizeof(bytes))), sizeof(bytes));
	arena_free(arena);
}

static void an_impossible_size_is_no_memory(void **state)
{
	struct arena *arena = arena_new();

	(void)state;
	assert_null(arena_copy(arena, "", SIZE_MAX));
	assert_string_equal(arena_copy(arena, "still", 5), "still");
	arena_free(arena);
}

static void nothing_can_be_freed(void **state)
{
	(void)state;
	arena_free(NULL);
}

static void a_failed_allocation_leaves_the_arena_whole(void **state)
{
	struct arena *arena;
	const char *first;

	(void)state;
	needs_failing_allocations();
	allocation_fails(1);
	assert_null(arena_new());
	assert_true(allocation_failed());
	arena = arena_new();
	first = arena_copy(arena, "first", 5);
	allocation_fails(1);
	while (arena_copy(arena, "0123456789", 10))
		;
	assert_true(allocation_failed());
	assert_string_equal(first, "first");
	assert_string_equal(arena_copy(arena, "next", 4), "next");
	arena_free(arena);
}

UNIT_MAIN(NULL, NULL)
