/* SPDX-License-Identifier: MIT */
/* recipe.c - see recipe.h and recipe_fields.h: the structure, and the table of its fields. */
#include "fs/recipe/recipe.h"
#include "fs/recipe/recipe_fields.h"
#include "fs/util/array_grown.h"
#include "fs/util/utf8.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SOURCE(field)  offsetof(struct recipe_source, field)
#define MERGE(field)   offsetof(struct recipe_merge, field)
#define MODEL(field)   offsetof(struct recipe_merge_model, field)
#define GRAFT(field)   offsetof(struct recipe_graft, field)
#define KEY(field)     offsetof(struct recipe_key, field)
#define ADAPTER(field) offsetof(struct recipe_adapter, field)
#define TYPE(field)    offsetof(struct recipe_type, field)
#define OPTIONS(field) offsetof(struct recipe_options, field)

#define SOURCE_FIELDS                                                                    \
	{                                                                                \
		{ "name", FIELD_ENCODED, SOURCE(name), true, false },                    \
			{ "size", FIELD_NUMBER, SOURCE(size), true, false },             \
			{ "fingerprint", FIELD_HASH, SOURCE(fingerprint), true, false }, \
			{ "contents", FIELD_HASH, SOURCE(contents), false, false },      \
			{ "path", FIELD_ENCODED, SOURCE(path), false, true },            \
			{ "recipe", FIELD_TEXT, SOURCE(recipe), false, false },          \
			{ "cut", FIELD_YES, SOURCE(cut), false, false },                 \
	}

const struct recipe_section_fields recipe_sections[RECIPE_SECTIONS] = {
	{ "base", false, 7, SOURCE_FIELDS },
	{ "options",
	  false,
	  3,
	  {
		  { "blocks", FIELD_TEXT, OPTIONS(blocks), false, false },
		  { "merged", FIELD_TEXT, OPTIONS(merged), false, false },
		  { "type", FIELD_TEXT, OPTIONS(type), false, false },
	  } },
	{ "donors", true, 7, SOURCE_FIELDS },
	{ "merge",
	  false,
	  2,
	  {
		  { "config", FIELD_TEXT, MERGE(config), false, false },
		  { "encoded", FIELD_UNTEXT, MERGE(config), false, false },
	  } },
	{ "models",
	  true,
	  2,
	  {
		  { "model", FIELD_ENCODED, MODEL(written), true, false },
		  { "donor", FIELD_DONOR, MODEL(donor), true, false },
	  } },
	{ "grafts",
	  true,
	  9,
	  {
		  { "slot", FIELD_ENCODED, GRAFT(slot), true, false },
		  { "how", FIELD_HOW, GRAFT(how), true, false },
		  { "tensor", FIELD_ENCODED, GRAFT(tensor), false, false },
		  { "donor", FIELD_DONOR, GRAFT(donor), false, false },
		  { "from", FIELD_ENCODED, GRAFT(from), false, false },
		  { "view", FIELD_ENCODED, GRAFT(view), false, false },
		  { "organ", FIELD_HASH, GRAFT(organ), false, false },
		  { "size", FIELD_NUMBER, GRAFT(size), false, false },
		  { "target", FIELD_ENCODED, GRAFT(target), false, true },
	  } },
	{ "metadata",
	  true,
	  5,
	  {
		  { "key", FIELD_ENCODED, KEY(key), true, false },
		  { "removed", FIELD_YES, KEY(removed), false, false },
		  { "type", FIELD_TEXT, KEY(type), false, false },
		  { "value", FIELD_TEXT, KEY(value), false, false },
		  { "encoded", FIELD_UNTEXT, KEY(value), false, false },
	  } },
	{ "adapters",
	  true,
	  4,
	  {
		  { "file", FIELD_ENCODED, ADAPTER(file), true, false },
		  { "target", FIELD_ENCODED, ADAPTER(target), false, true },
		  { "donor", FIELD_DONOR, ADAPTER(donor), false, false },
		  { "value", FIELD_TEXT, ADAPTER(value), false, false },
	  } },
	{ "types",
	  true,
	  2,
	  {
		  { "slot", FIELD_ENCODED, TYPE(slot), true, false },
		  { "type", FIELD_TEXT, TYPE(type), true, false },
	  } },
};

const char *const recipe_hows[RECIPE_HOWS] = {
	[RECIPE_COPY] = "copy",
	[RECIPE_REFERENCE] = "reference",
	[RECIPE_LINK] = "link",
	[RECIPE_REMOVED] = "removed",
};

static void release_item(const struct recipe_section_fields *section, void *item)
{
	for (size_t i = 0; i < section->n; i++) {
		const struct recipe_field *field = &section->fields[i];

		if (field->kind == FIELD_ENCODED || field->kind == FIELD_TEXT)
			free(((struct recipe_text *)((char *)item + field->offset))->bytes);
	}
}

void recipe_release(struct recipe *recipe)
{
	void *item;

	for (enum recipe_section section = 0; section < RECIPE_SECTIONS; section++)
		for (size_t i = 0; (item = recipe_item(recipe, section, i)); i++)
			release_item(&recipe_sections[section], item);
	free(recipe->donors);
	free(recipe->models);
	free(recipe->grafts);
	free(recipe->keys);
	free(recipe->adapters);
	free(recipe->types);
	*recipe = (struct recipe){ 0 };
}

int recipe_text_set(struct recipe_text *text, const char *bytes, size_t n)
{
	char *copy = malloc(n + 1);

	if (!copy)
		return -ENOMEM;
	if (n)
		memcpy(copy, bytes, n);
	copy[n] = '\0';
	free(text->bytes);
	*text = (struct recipe_text){ copy, n };
	return 0;
}

struct recipe_source *recipe_add_donor(struct recipe *recipe)
{
	struct recipe_source *more =
		array_grown(recipe->donors, recipe->n_donors, &recipe->donors_room, sizeof(*more));

	if (!more)
		return NULL;
	recipe->donors = more;
	more = &recipe->donors[recipe->n_donors++];
	*more = (struct recipe_source){ 0 };
	return more;
}

struct recipe_merge_model *recipe_add_model(struct recipe *recipe)
{
	struct recipe_merge_model *more =
		array_grown(recipe->models, recipe->n_models, &recipe->models_room, sizeof(*more));

	if (!more)
		return NULL;
	recipe->models = more;
	more = &recipe->models[recipe->n_models++];
	*more = (struct recipe_merge_model){ .donor = RECIPE_NO_DONOR };
	return more;
}

struct recipe_graft *recipe_add_graft(struct recipe *recipe)
{
	struct recipe_graft *more =
		array_grown(recipe->grafts, recipe->n_grafts, &recipe->grafts_room, sizeof(*more));

	if (!more)
		return NULL;
	recipe->grafts = more;
	more = &recipe->grafts[recipe->n_grafts++];
	*more = (struct recipe_graft){ .donor = RECIPE_NO_DONOR };
	return more;
}

struct recipe_key *recipe_add_key(struct recipe *recipe)
{
	struct recipe_key *more =
		array_grown(recipe->keys, recipe->n_keys, &recipe->keys_room, sizeof(*more));

	if (!more)
		return NULL;
	recipe->keys = more;
	more = &recipe->keys[recipe->n_keys++];
	*more = (struct recipe_key){ 0 };
	return more;
}

struct recipe_adapter *recipe_add_adapter(struct recipe *recipe)
{
	struct recipe_adapter *more = array_grown(recipe->adapters, recipe->n_adapters,
						  &recipe->adapters_room, sizeof(*more));

	if (!more)
		return NULL;
	recipe->adapters = more;
	more = &recipe->adapters[recipe->n_adapters++];
	*more = (struct recipe_adapter){ .donor = RECIPE_NO_DONOR };
	return more;
}

struct recipe_type *recipe_add_type(struct recipe *recipe)
{
	struct recipe_type *more =
		array_grown(recipe->types, recipe->n_types, &recipe->types_room, sizeof(*more));

	if (!more)
		return NULL;
	recipe->types = more;
	more = &recipe->types[recipe->n_types++];
	*more = (struct recipe_type){ 0 };
	return more;
}

void *recipe_add(struct recipe *recipe, enum recipe_section section)
{
	switch (section) {
	case SECTION_BASE:
		return &recipe->base;
	case SECTION_OPTIONS:
		return &recipe->options;
	case SECTION_DONORS:
		return recipe_add_donor(recipe);
	case SECTION_MERGE:
		return &recipe->merge;
	case SECTION_MODELS:
		return recipe_add_model(recipe);
	case SECTION_GRAFTS:
		return recipe_add_graft(recipe);
	case SECTION_METADATA:
		return recipe_add_key(recipe);
	case SECTION_ADAPTERS:
		return recipe_add_adapter(recipe);
	default:
		return recipe_add_type(recipe);
	}
}

void *recipe_item(const struct recipe *recipe, enum recipe_section section, size_t i)
{
	switch (section) {
	case SECTION_BASE:
		return i == 0 ? (void *)&recipe->base : NULL;
	case SECTION_OPTIONS:
		return i == 0 ? (void *)&recipe->options : NULL;
	case SECTION_DONORS:
		return i < recipe->n_donors ? &recipe->donors[i] : NULL;
	case SECTION_MERGE:
		return i == 0 ? (void *)&recipe->merge : NULL;
	case SECTION_MODELS:
		return i < recipe->n_models ? &recipe->models[i] : NULL;
	case SECTION_GRAFTS:
		return i < recipe->n_grafts ? &recipe->grafts[i] : NULL;
	case SECTION_METADATA:
		return i < recipe->n_keys ? &recipe->keys[i] : NULL;
	case SECTION_ADAPTERS:
		return i < recipe->n_adapters ? &recipe->adapters[i] : NULL;
	default:
		return i < recipe->n_types ? &recipe->types[i] : NULL;
	}
}

bool recipe_is_utf8(const struct recipe_text *text)
{
	for (size_t at = 0; at < text->length;) {
		const size_t n = utf8_length(text->bytes + at, text->length - at);

		if (n == 0)
			return false;
		at += n;
	}
	return true;
}
