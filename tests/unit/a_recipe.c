/* SPDX-License-Identifier: MIT */
/* a_recipe.c - see a_recipe.h. */
#include "tests/unit/a_recipe.h"
#include "tests/unit/unit.h"

static void set(struct recipe_text *text, const char *words)
{
	assert_int_equal(recipe_text_set(text, words, strlen(words)), 0);
}

static void source(struct recipe_source *file, const char *name, const char *path,
		   const char *carries)
{
	set(&file->name, name);
	file->size = UINT64_C(9007199254740993);
	strcpy(file->fingerprint, "0123456789abcdef0123456789abcdef");
	if (path)
		set(&file->path, path);
	if (carries)
		set(&file->recipe, carries);
}

static void merge(struct recipe *recipe)
{
	static const char *const names[] = { "b", "./x y" };

	set(&recipe->merge.config, "merge_method: linear # so\nmodels: [b, ./x y]\n");
	for (uint32_t i = 0; i < 2; i++) {
		struct recipe_merge_model *added = recipe_add_model(recipe);

		set(&added->written, names[i]);
		added->donor = i ? 2 : RECIPE_BASE;
	}
}

static struct recipe_graft *graft(struct recipe *recipe, const char *slot, enum recipe_how how)
{
	struct recipe_graft *added = recipe_add_graft(recipe);

	set(&added->slot, slot);
	added->how = how;
	return added;
}

static void grafts(struct recipe *recipe)
{
	struct recipe_graft *added = graft(recipe, "organs/blk_0_ffn_up", RECIPE_COPY);

	strcpy(added->organ, "ffffffffffffffffffffffffffffffff");
	added->size = 77;
	added->donor = 1;
	set(&added->from, "blk.1.ffn up%.weight");
	set(&added->view, "spectral");
	added = graft(recipe, "organs/blk_9_ffn_up", RECIPE_REFERENCE);
	set(&added->tensor, "blk.9.ffn_up.weight");
	added->donor = RECIPE_BASE;
	set(&added->from, "blk.0.ffn_up.weight");
	added = graft(recipe, "norm/blk_0_attn_norm", RECIPE_LINK);
	set(&added->target, "../x y.bin\n");
	added->donor = 2;
	set(&added->from, "x");
	graft(recipe, "norm/output_norm", RECIPE_REMOVED);
}

static void key(struct recipe *recipe, const char *name, const char *value, size_t n)
{
	struct recipe_key *added = recipe_add_key(recipe);

	set(&added->key, name);
	set(&added->type, "string");
	if (value)
		assert_int_equal(recipe_text_set(&added->value, value, n), 0);
	else
		added->removed = true;
}

static void keys(struct recipe *recipe)
{
	static const struct {
		const char *bytes;
		size_t n;
	} values[] = { { "", 0 },
		       { "plain words", 11 },
		       { "yes", 3 },
		       { "1e5", 3 },
		       { " lead, trail ", 13 },
		       { "a: b # c", 8 },
		       { "two\nlines\n", 10 },
		       { "\n\n  x\n\ty\n\n", 10 },
		       { "tail \nx", 7 },
		       { "a\rb\x01\x7f", 5 },
		       { "\xc3\xa4\xe2\x80\xa8\xf0\x9f\xa7\xa0\xef\xbb\xbf", 12 },
		       { "n\0l", 3 },
		       { "\xff\xfe", 2 },
		       { "{% if x %}'\"\\", 13 } };

	for (size_t i = 0; i < ARRAY_LENGTH(values); i++) {
		char name[16];

		snprintf(name, sizeof(name), "key.%zu", i);
		key(recipe, name, values[i].bytes, values[i].n);
	}
	key(recipe, "gone", NULL, 0);
}

void a_recipe(struct recipe *recipe)
{
	struct recipe_adapter *adapter;

	*recipe = (struct recipe){ 0 };
	source(&recipe->base, "base model.gguf", NULL, "organfs: recipe 1\nbase: {}\n");
	set(&recipe->options.blocks, "keep");
	source(recipe_add_donor(recipe), "donor.gguf", "/a b/donor.gguf", "x\n  y\n\n  z");
	source(recipe_add_donor(recipe), "\xc3\xa4.bin", NULL, NULL);
	merge(recipe);
	grafts(recipe);
	keys(recipe);
	adapter = recipe_add_adapter(recipe);
	set(&adapter->file, "style.gguf");
	set(&adapter->target, "/s.gguf");
	adapter->donor = 2;
	adapter = recipe_add_adapter(recipe);
	set(&adapter->file, "style.scale");
	set(&adapter->value, "0.5");
}

char *a_recipe_text(const struct recipe *recipe, bool portable, size_t *size)
{
	struct error err = { 0 };
	char *text = recipe_write(recipe, portable, size, &err);

	assert_non_null(text);
	assert_int_equal(strlen(text), *size);
	return text;
}
