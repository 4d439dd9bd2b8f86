/* SPDX-License-Identifier: MIT */
/* test_recipe_write.c - fs/recipe/recipe_write.c: a recipe as text that reads back the same. */
#include "fs/recipe/recipe.h"
#include "tests/unit/a_recipe.h"
#include "tests/unit/unit.h"

static void small_recipe_has_the_expected_text(void **state)
{
	static const char expected[] = "organfs: recipe 1\n"
				       "base:\n"
				       "  name: base%20model.gguf\n"
				       "  size: 9007199254740993\n"
				       "  fingerprint: '0123456789abcdef0123456789abcdef'\n"
				       "  recipe: |\n"
				       "    organfs: recipe 1\n"
				       "    base: {}\n"
				       "options:\n"
				       "  blocks: keep\n";
	struct recipe recipe;
	size_t size;
	char *text;

	(void)state;
	a_recipe(&recipe);
	text = a_recipe_text(&recipe, false, &size);
	assert_memory_equal(text, expected, strlen(expected));
	free(text);
	recipe_release(&recipe);
}

static void recipe_is_written_as_it_was_read(void **state)
{
	struct recipe recipe, again;
	struct error err = { 0 };
	size_t size, size_again;
	char *text, *text_again;

	(void)state;
	a_recipe(&recipe);
	text = a_recipe_text(&recipe, false, &size);
	if (recipe_read(text, size, &again, &err) < 0)
		fail_msg("%s in\n%s", err.text, text);
	assert_int_equal(again.n_keys, recipe.n_keys);
	for (size_t i = 0; i < again.n_keys; i++) {
		assert_int_equal(again.keys[i].value.length, recipe.keys[i].value.length);
		if (again.keys[i].value.length)
			assert_memory_equal(again.keys[i].value.bytes, recipe.keys[i].value.bytes,
					    again.keys[i].value.length);
	}
	assert_string_equal(again.grafts[0].from.bytes, "blk.1.ffn up%.weight");
	assert_string_equal(again.grafts[2].target.bytes, "../x y.bin\n");
	text_again = a_recipe_text(&again, false, &size_again);
	assert_string_equal(text, text_again);
	free(text);
	free(text_again);
	recipe_release(&recipe);
	recipe_release(&again);
}

static void a_portable_recipe_has_no_paths(void **state)
{
	struct recipe recipe;
	size_t size;
	char *text;

	(void)state;
	a_recipe(&recipe);
	text = a_recipe_text(&recipe, true, &size);
	assert_null(strstr(text, "/a%20b"));
	assert_null(strstr(text, "target"));
	assert_non_null(strstr(text, "donor.gguf"));
	free(text);
	recipe_release(&recipe);
}

/* A descendant of this model embeds the recipe, and so does the next one. */
static void a_portable_recipe_can_be_read(void **state)
{
	static const char *const targets[] = { "blk_0_ffn_up.bin", "/no/where/x.bin" };
	struct recipe recipe, again;
	struct recipe_adapter *adapter;
	struct error err = { 0 };
	size_t size;
	char *text;

	(void)state;
	a_recipe(&recipe);
	for (size_t i = 0; i < 2; i++) {
		struct recipe_graft *graft = recipe_add_graft(&recipe);

		graft->how = RECIPE_LINK;
		assert_int_equal(recipe_text_set(&graft->slot, i ? "norm/b" : "norm/a", 6), 0);
		assert_int_equal(recipe_text_set(&graft->target, targets[i], strlen(targets[i])),
				 0);
	}
	adapter = recipe_add_adapter(&recipe);
	assert_int_equal(recipe_text_set(&adapter->file, "x.gguf", 6), 0);
	assert_int_equal(recipe_text_set(&adapter->target, "/x.gguf", 7), 0);
	text = a_recipe_text(&recipe, true, &size);
	if (recipe_read(text, size, &again, &err) < 0)
		fail_msg("%s in\n%s", err.text, text);
	assert_int_equal(again.n_grafts, recipe.n_grafts);
	assert_string_equal(again.grafts[recipe.n_grafts - 2].target.bytes, targets[0]);
	assert_null(again.grafts[recipe.n_grafts - 1].target.bytes);
	assert_null(strstr(text, "/no/where"));
	free(text);
	recipe_release(&recipe);
	recipe_release(&again);
}

static void a_text_that_would_be_too_long_is_refused(void **state)
{
	char *many = calloc(1, RECIPE_MAX);
	struct recipe recipe = { 0 };
	struct error err = { 0 };
	struct recipe_key *key = recipe_add_key(&recipe);
	size_t size;

	(void)state;
	memset(many, 'x', RECIPE_MAX - 1);
	assert_int_equal(recipe_text_set(&key->key, "k", 1), 0);
	assert_int_equal(recipe_text_set(&key->value, many, RECIPE_MAX - 1), 0);
	assert_null(recipe_write(&recipe, false, &size, &err));
	assert_refused(-err.code, &err, EFBIG, ERROR_NO_OFFSET);
	free(many);
	recipe_release(&recipe);
}

static void without_memory_there_is_no_text(void **state)
{
	struct recipe recipe;
	struct error err = { 0 };
	size_t size;
	char *text;

	(void)state;
	needs_failing_allocations();
	a_recipe(&recipe);
	for (uint64_t k = 1;; k++) {
		allocation_fails(k);
		text = recipe_write(&recipe, false, &size, &err);
		if (!allocation_failed())
			break;
		assert_null(text);
		assert_int_equal(err.code, ENOMEM);
	}
	assert_non_null(text);
	free(text);
	recipe_release(&recipe);
}

UNIT_MAIN(NULL, NULL)
