/* SPDX-License-Identifier: MIT */
/* recipe_same.c - see recipe_same.h. */
#include "fs/recipe/recipe_same.h"

#include <string.h>

static bool same_text(const struct recipe_text *a, const struct recipe_text *b)
{
	if (!a->bytes || !b->bytes)
		return !a->bytes && !b->bytes;
	return a->length == b->length && memcmp(a->bytes, b->bytes, a->length) == 0;
}

/* What is known of a donor. NULL: there is none. */
static const struct recipe_source *source_of(const struct recipe *recipe, uint32_t donor)
{
	if (donor == RECIPE_NO_DONOR)
		return NULL;
	return donor == RECIPE_BASE ? &recipe->base : &recipe->donors[donor - 1];
}

/* As far as both recipes know them. */
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

static bool same_graft(const struct recipe *a, const struct recipe_graft *graft,
		       const struct recipe *b, const struct recipe_graft *other)
{
	const bool copies = graft->how == RECIPE_COPY, removed = graft->how == RECIPE_REMOVED;

	if (!same_text(&graft->slot, &other->slot) || !same_text(&graft->tensor, &other->tensor) ||
	    copies != (other->how == RECIPE_COPY) || removed != (other->how == RECIPE_REMOVED))
		return false;
	if (copies || removed)
		return strcmp(graft->organ, other->organ) == 0;
	if (graft->donor == RECIPE_NO_DONOR)
		return other->donor == RECIPE_NO_DONOR && same_text(&graft->target, &other->target);
	return same_donor(a, graft->donor, b, other->donor) &&
	       same_text(&graft->from, &other->from);
}

static bool same_key(const struct recipe_key *a, const struct recipe_key *b)
{
	return same_text(&a->key, &b->key) && a->removed == b->removed &&
	       same_text(&a->type, &b->type) && same_text(&a->value, &b->value);
}

static bool same_adapter(const struct recipe *a, const struct recipe_adapter *adapter,
			 const struct recipe *b, const struct recipe_adapter *other)
{
	return same_text(&adapter->file, &other->file) &&
	       same_text(&adapter->value, &other->value) &&
	       same_donor(a, adapter->donor, b, other->donor) &&
	       (adapter->donor != RECIPE_NO_DONOR || same_text(&adapter->target, &other->target));
}

bool recipe_same(const struct recipe *a, const struct recipe *b)
{
	bool same = same_source(&a->base, &b->base) &&
		    a->n_grafts == b->n_grafts && a->n_keys == b->n_keys &&
		    a->n_adapters == b->n_adapters;

	for (size_t i = 0; same && i < a->n_grafts; i++)
		same = same_graft(a, &a->grafts[i], b, &b->grafts[i]);
	for (size_t i = 0; same && i < a->n_keys; i++)
		same = same_key(&a->keys[i], &b->keys[i]);
	for (size_t i = 0; same && i < a->n_adapters; i++)
		same = same_adapter(a, &a->adapters[i], b, &b->adapters[i]);
	return same;
}
