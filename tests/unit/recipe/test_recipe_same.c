/* SPDX-License-Identifier: MIT */
/* test_recipe_same.c - fs/recipe/recipe_same.c: recipes that make the same model. */
#include "fs/recipe/recipe_same.h"
#include "tests/unit/a_recipe.h"
#include "tests/unit/unit.h"

static void set(struct recipe_text *text, const char *words)
{
	assert_int_equal(recipe_text_set(text, words, strlen(words)), 0);
}

/* Changes one thing in a recipe. */
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

static void other_merge(struct recipe *recipe)
{
	set(&recipe->merge.config, "merge_method: linear\nmodels: [b, ./x y]\n");
}

static void other_merged_model(struct recipe *recipe)
{
	set(&recipe->models[0].written, "c");
}

static void swap_models(struct recipe *recipe)
{
	const struct recipe_merge_model first = recipe->models[0];

	recipe->models[0] = recipe->models[1];
	recipe->models[1] = first;
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

static void swap_grafts(struct recipe *recipe)
{
	const struct recipe_graft first = recipe->grafts[0];

	recipe->grafts[0] = recipe->grafts[3];
	recipe->grafts[3] = first;
}

static void no_type(struct recipe *recipe)
{
	free(recipe->keys[1].type.bytes);
	recipe->keys[1].type = (struct recipe_text){ 0 };
}

static void no_donor_of_link(struct recipe *recipe)
{
	recipe->grafts[2].donor = RECIPE_NO_DONOR;
	recipe->adapters[0].donor = RECIPE_NO_DONOR;
}

static void twice(struct recipe *recipe)
{
	set(&recipe->keys[1].key, recipe->keys[0].key.bytes);
	set(&recipe->keys[1].value, recipe->keys[0].value.bytes);
}

static void other_number(struct recipe *recipe)
{
	set(&recipe->adapters[1].value, "0.500");
}

static void other_contents(struct recipe *recipe)
{
	strcpy(recipe->donors[1].contents, "ffffffffffffffffffffffffffffffff");
}

/* A user's recipe has fewer fields than the recipe of the resulting model. */
static void omitted_fields_match_any_value(void **state)
{
	static const struct {
		change *change;
		bool same;
	} cases[] = { { swap_models, true },  { other_merge, false }, { other_merged_model, false },
		      { swap_grafts, true },  { no_type, true },      { no_donor_of_link, true },
		      { other_number, true }, { twice, false },	      { other_contents, true },
		      { other_value, false } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct recipe is, wanted;

		a_recipe(&is);
		a_recipe(&wanted);
		cases[i].change(&wanted);
		if (recipe_same(&is, &wanted) != cases[i].same)
			fail_msg("case %zu", i);
		recipe_release(&is);
		recipe_release(&wanted);
	}
}

static void values_are_compared_as_their_type_reads_them(void **state)
{
	struct recipe is, wanted;

	(void)state;
	a_recipe(&is);
	a_recipe(&wanted);
	set(&is.keys[1].type, "float32");
	set(&is.keys[1].value, "1.5");
	set(&wanted.keys[1].type, "float32");
	set(&wanted.keys[1].value, " +1.50");
	assert_true(recipe_same(&is, &wanted));
	set(&wanted.keys[1].value, "1.51");
	assert_false(recipe_same(&is, &wanted));
	recipe_release(&is);
	recipe_release(&wanted);
}

/* Chimeras of one base have one fingerprint. */
static void equal_fingerprints_compare_by_contents(void **state)
{
	struct recipe is, wanted;

	(void)state;
	a_recipe(&is);
	a_recipe(&wanted);
	strcpy(is.donors[1].contents, "0fffffffffffffffffffffffffffffff");
	other_contents(&wanted);
	assert_false(recipe_same(&is, &wanted));
	strcpy(wanted.donors[1].contents, is.donors[1].contents);
	assert_true(recipe_same(&is, &wanted));
	recipe_release(&is);
	recipe_release(&wanted);
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
