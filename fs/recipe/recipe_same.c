/* SPDX-License-Identifier: MIT */
/* recipe_same.c - see recipe_same.h. */
#include "fs/recipe/recipe_same.h"
#include "fs/metadata/value_parse.h"
#include "fs/recipe/recipe.h"
#include "gguf/cursor.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static bool same_text(const struct recipe_text *a, const struct recipe_text *b)
{
	if (!a->bytes || !b->bytes)
		return !a->bytes && !b->bytes;
	return a->length == b->length && memcmp(a->bytes, b->bytes, a->length) == 0;
}

/* Source of a donor's number. NULL: none. */
static const struct recipe_source *source_of(const struct recipe *recipe, uint32_t donor)
{
	if (donor == RECIPE_NO_DONOR)
		return NULL;
	return donor == RECIPE_BASE ? &recipe->base : &recipe->donors[donor - 1];
}

/* Are two sources equal, as far as both recipes know them? */
static bool same_source(const struct recipe_source *a, const struct recipe_source *b)
{
	return strcmp(a->fingerprint, b->fingerprint) == 0 &&
	       (!a->contents[0] || !b->contents[0] || strcmp(a->contents, b->contents) == 0);
}

static bool same_donor(const struct recipe *a, uint32_t donor, const struct recipe *b,
		       uint32_t other)
{
	const struct recipe_source *one = source_of(a, donor), *two = source_of(b, other);

	return one && two ? same_source(one, two) : one == two;
}

/* An omitted text matches any. */
static bool matches(const struct recipe_text *is, const struct recipe_text *wanted)
{
	return !wanted->bytes || same_text(is, wanted);
}

static bool same_place(const struct recipe_text *a, const struct recipe_text *b)
{
	return a->bytes && same_text(a, b);
}

static size_t find_model(const struct recipe *recipe, size_t place, const struct recipe_text *name);

/* Do the merges have equal configurations whose names mean the same models? */
static bool same_merge(const struct recipe *is, const struct recipe *wanted)
{
	bool same = same_text(&is->merge.config, &wanted->merge.config) &&
		    is->n_models == wanted->n_models;

	for (size_t i = 0; same && i < is->n_models; i++) {
		const size_t other = find_model(wanted, i, &is->models[i].written);

		same = other < wanted->n_models &&
		       same_donor(is, is->models[i].donor, wanted, wanted->models[other].donor);
	}
	return same;
}

static bool same_graft(const struct recipe *a, const struct recipe_graft *is,
		       const struct recipe *b, const struct recipe_graft *wanted)
{
	const bool copies = is->how == RECIPE_COPY, removed = is->how == RECIPE_REMOVED;

	if (!matches(&is->tensor, &wanted->tensor) || copies != (wanted->how == RECIPE_COPY) ||
	    removed != (wanted->how == RECIPE_REMOVED))
		return false;
	if (is->organ[0] && wanted->organ[0] && strcmp(is->organ, wanted->organ) != 0)
		return false;
	if (copies || removed)
		return true;
	if (is->donor == RECIPE_NO_DONOR || wanted->donor == RECIPE_NO_DONOR)
		return same_place(&is->target, &wanted->target);
	return same_donor(a, is->donor, b, wanted->donor) && matches(&is->from, &wanted->from);
}

static bool same_value(const struct recipe_key *is, const struct recipe_key *wanted)
{
	const struct recipe_key *keys[2] = { is, wanted };
	struct value_type type = { KV_STRING, 0 };
	struct value_bytes values[2] = { { .bytes = NULL }, { .bytes = NULL } };
	int rc = 0;
	bool same;

	if (same_text(&is->value, &wanted->value))
		return true;
	if (is->type.bytes && !value_type_parse(is->type.bytes, is->type.length, &type))
		return false;
	for (size_t i = 0; rc == 0 && i < 2; i++) {
		struct memory_bytes memory = { (const uint8_t *)keys[i]->value.bytes,
					       keys[i]->value.length };
		const struct source source = source_of_memory(&memory);

		rc = value_parse(&source, type, 8, &values[i], NULL);
	}
	same = rc == 0 && values[0].length == values[1].length &&
	       values[0].count == values[1].count &&
	       (values[0].length == 0 ||
		memcmp(values[0].bytes, values[1].bytes, values[0].length) == 0);
	free(values[0].bytes);
	free(values[1].bytes);
	return same;
}

static bool same_key(const struct recipe_key *is, const struct recipe_key *wanted)
{
	if (is->removed || wanted->removed)
		return is->removed == wanted->removed;
	return matches(&is->type, &wanted->type) && same_value(is, wanted);
}

static bool same_number(const struct recipe_text *a, const struct recipe_text *b)
{
	char *end[2];
	float one, two;

	if (!a->bytes || !b->bytes || same_text(a, b))
		return same_text(a, b);
	one = strtof(a->bytes, &end[0]);
	two = strtof(b->bytes, &end[1]);
	return end[0] != a->bytes && !*end[0] && end[1] != b->bytes && !*end[1] && one == two;
}

static bool same_adapter(const struct recipe *a, const struct recipe_adapter *is,
			 const struct recipe *b, const struct recipe_adapter *wanted)
{
	if (!same_number(&is->value, &wanted->value))
		return false;
	if (is->value.bytes)
		return true;
	if (is->donor == RECIPE_NO_DONOR || wanted->donor == RECIPE_NO_DONOR)
		return same_place(&is->target, &wanted->target);
	return same_donor(a, is->donor, b, wanted->donor);
}

/* Index of the item with that name; items begin with their names and have that size. Most recipes
 * have it at the same place. n: none. */
static size_t find(const void *items, size_t n, size_t size, size_t place,
		   const struct recipe_text *name)
{
	if (place < n && same_text((const void *)((const char *)items + place * size), name))
		return place;
	place = 0;
	while (place < n && !same_text((const void *)((const char *)items + place * size), name))
		place++;
	return place;
}

static size_t find_model(const struct recipe *recipe, size_t place, const struct recipe_text *name)
{
	return find(recipe->models, recipe->n_models, sizeof(*recipe->models), place, name);
}

#define FIND(recipe, list, i, name) \
	find((recipe)->list, (recipe)->n_##list, sizeof(*(recipe)->list), i, name)

_Static_assert(offsetof(struct recipe_graft, slot) == 0 && offsetof(struct recipe_key, key) == 0 &&
		       offsetof(struct recipe_adapter, file) == 0 &&
		       offsetof(struct recipe_type, slot) == 0,
	       "the name is first");

/* Has b all names of a? Call both ways, because b may repeat a name. */
static bool has_names(const struct recipe *a, const struct recipe *b)
{
	bool has = a->n_grafts == b->n_grafts && a->n_keys == b->n_keys &&
		   a->n_adapters == b->n_adapters && a->n_types == b->n_types;

	for (size_t i = 0; has && i < a->n_grafts; i++)
		has = FIND(b, grafts, i, &a->grafts[i].slot) < b->n_grafts;
	for (size_t i = 0; has && i < a->n_keys; i++)
		has = FIND(b, keys, i, &a->keys[i].key) < b->n_keys;
	for (size_t i = 0; has && i < a->n_adapters; i++)
		has = FIND(b, adapters, i, &a->adapters[i].file) < b->n_adapters;
	for (size_t i = 0; has && i < a->n_types; i++)
		has = FIND(b, types, i, &a->types[i].slot) < b->n_types;
	return has;
}

bool recipe_same(const struct recipe *is, const struct recipe *wanted)
{
	bool same = same_source(&is->base, &wanted->base) && same_merge(is, wanted) &&
		    has_names(is, wanted) && has_names(wanted, is);

	for (size_t i = 0; same && i < is->n_grafts; i++)
		same = same_graft(is, &is->grafts[i], wanted,
				  &wanted->grafts[FIND(wanted, grafts, i, &is->grafts[i].slot)]);
	for (size_t i = 0; same && i < is->n_keys; i++)
		same = same_key(&is->keys[i],
				&wanted->keys[FIND(wanted, keys, i, &is->keys[i].key)]);
	for (size_t i = 0; same && i < is->n_adapters; i++)
		same = same_adapter(
			is, &is->adapters[i], wanted,
			&wanted->adapters[FIND(wanted, adapters, i, &is->adapters[i].file)]);
	for (size_t i = 0; same && i < is->n_types; i++)
		same = strcasecmp(is->types[i].type.bytes,
				  wanted->types[FIND(wanted, types, i, &is->types[i].slot)]
					  .type.bytes) == 0;
	return same;
}
