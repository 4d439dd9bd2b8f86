/* SPDX-License-Identifier: MIT */
/* test_recipe_same.c - fs/recipe/recipe_same.c: recipes that make the same model. */
#include "fs/recipe/recipe_same.h"
#include "tests/unit/a_recipe.h"
#include "tests/unit/unit.h"

static void set(struct recipe_text *text, const char *words)
{
	assert_int_equal(recipe_text_set(text, words, strlen(words)), 0);
}

/* What a change of one thing in a recipe does. */
typedef void change(struct recipe *recipe);

static void rename_donor(struct recipe *recipe)
{
	set(&recipe->donors[0].name, "other");
	set(&recipe->donors[0].path, "/other");
	recipe->donors[0].size = 0;
	set(&recipe->base.name, "other");
}

static void follow_link(struct recipe *recipe)
{
	recipe->grafts[2].how = RECIPE_REFERENCE;
	set(&recipe->grafts[2].target, "/other");
	set(&recipe->adapters[0].target, "/other");
}

static void forget_donor_of_copy(struct recipe *recipe)
{
	recipe->grafts[0].donor = RECIPE_NO_DONOR;
}

static void other_base(struct recipe *recipe)
{
	recipe->base.fingerprint[0] = 'f';
}

static void other_bytes(struct recipe *recipe)
{
	recipe->grafts[0].organ[0] = '0';
}

static void other_tensor(struct recipe *recipe)
{
	set(&recipe->grafts[1].from, "x");
}

static void other_donor(struct recipe *recipe)
{
	recipe->donors[1].fingerprint[0] = 'f';
}

static void other_value(struct recipe *recipe)
{
	set(&recipe->keys[1].value, "x");
}

static void other_scale(struct recipe *recipe)
{
	set(&recipe->adapters[1].value, "1");
}

static void one_key_less(struct recipe *recipe)
{
	free(recipe->keys[--recipe->n_keys].key.bytes);
	free(recipe->keys[recipe->n_keys].type.bytes);
}

static void names_and_places_do_not_count_and_all_else_does(void **state)
{
	static const struct {
		change *change;
		bool same;
	} cases[] = { { rename_donor, true },	      { follow_link, true },
		      { forget_donor_of_copy, true }, { other_base, false },
		      { other_bytes, false },	      { other_tensor, false },
		      { other_donor, false },	      { other_value, false },
		      { other_scale, false },	      { one_key_less, false } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct recipe a, b;

		a_recipe(&a);
		a_recipe(&b);
		assert_true(recipe_same(&a, &b));
		cases[i].change(&b);
		if (recipe_same(&a, &b) != cases[i].same || recipe_same(&b, &a) != cases[i].same)
			fail_msg("case %zu", i);
		recipe_release(&a);
		recipe_release(&b);
	}
}

UNIT_MAIN(NULL, NULL)
