/* SPDX-License-Identifier: MIT */
/* test_recipe.c - fs/recipe/recipe.c: the structure of a recipe, and the places of its parts. */
#include "fs/recipe/recipe_fields.h"
#include "tests/unit/unit.h"

static void an_added_graft_has_no_donor_yet(void **state)
{
	struct recipe recipe = { 0 };

	(void)state;
	for (size_t i = 0; i < 20; i++) {
		const struct recipe_graft *graft = recipe_add_graft(&recipe);

		assert_non_null(graft);
		assert_int_equal(graft->donor, RECIPE_NO_DONOR);
		assert_null(graft->slot.bytes);
		assert_ptr_equal(recipe_item(&recipe, SECTION_GRAFTS, i), graft);
	}
	assert_null(recipe_item(&recipe, SECTION_GRAFTS, 20));
	assert_false(recipe_is_empty(&recipe));
	recipe_release(&recipe);
	assert_true(recipe_is_empty(&recipe));
}

static void every_section_can_be_added_to_until_there_is_no_memory(void **state)
{
	(void)state;
	needs_failing_allocations();
	for (enum recipe_section section = 0; section < RECIPE_SECTIONS; section++) {
		struct recipe recipe = { 0 };

		assert_non_null(recipe_add(&recipe, section));
		recipe_release(&recipe);
		if (!recipe_sections[section].list)
			continue;
		allocation_fails(1);
		assert_null(recipe_add(&recipe, section));
		assert_true(allocation_failed());
		recipe_release(&recipe);
	}
}

static void texts_with_nul_or_torn_sequences_are_no_utf8(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
		bool is;
	} cases[] = { { "", 0, true },	     { "a\n\t", 3, true }, { "\xc3\xa4", 2, true },
		      { "a\0b", 3, false },  { "\xc3", 1, false }, { "\xed\xa0\x80", 3, false },
		      { "ab\xff", 3, false } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct recipe_text text = { 0 };

		assert_int_equal(recipe_text_set(&text, cases[i].bytes, cases[i].n), 0);
		assert_int_equal(recipe_is_utf8(&text), cases[i].is);
		free(text.bytes);
	}
}

UNIT_MAIN(NULL, NULL)
