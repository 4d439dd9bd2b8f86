/* SPDX-License-Identifier: MIT */
/* diff_side.c - see diff_side.h. */
#include "fs/diff/diff_side.h"
#include "fs/metadata/metadata.h"
#include "fs/model/model.h"
#include "fs/model/organ_file.h"
#include "fs/model/slots.h"
#include "fs/storage/backing.h"
#include "gguf/arena.h"
#include "gguf/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* An empty side with room for that many tensors and keys. NULL: out of memory. */
static struct diff_side *new_side(const char *name, uint32_t tensors, uint32_t keys)
{
	struct diff_side *side = calloc(1, sizeof(*side));

	if (!side)
		return NULL;
	side->tensors = calloc(tensors + 1u, sizeof(*side->tensors));
	side->keys = calloc(keys + 1u, sizeof(*side->keys));
	side->index = names_new(tensors);
	side->key_index = names_new(keys);
	side->arena = arena_new();
	if (side->arena)
		side->name = arena_copy(side->arena, name, strlen(name));
	if (side->tensors && side->keys && side->index && side->key_index && side->name)
		return side;
	diff_side_free(side);
	return NULL;
}

void diff_side_free(struct diff_side *side)
{
	if (!side)
		return;
	for (uint32_t i = 0; i < side->n; i++)
		backing_unref(side->tensors[i].at.file);
	for (uint32_t i = 0; i < side->n_keys; i++)
		metadata_entry_unref(side->keys[i].value);
	names_free(side->index);
	names_free(side->key_index);
	free(side->tensors);
	free(side->keys);
	arena_free(side->arena);
	free(side);
}

/* False: out of memory. */
static bool add_tensor(struct diff_side *side, const struct organ_location *at, bool readable)
{
	struct diff_tensor *tensor = &side->tensors[side->n];
	const size_t length = at->organ.name_length;
	char *name = arena_copy(side->arena, at->organ.name, length);

	if (!name || names_add(side->index, name, length, side->n) == -ENOMEM)
		return false;
	*tensor = (struct diff_tensor){ .at = *at,
					.klass = anatomy_class(name, length),
					.kind = anatomy_kind(name, length),
					.block = anatomy_block(name, length) };
	tensor->at.organ.name = name;
	tensor->at.file = readable && at->file ? backing_ref(at->file) : NULL;
	side->n++;
	return true;
}

/* Add a key. The value becomes the side's, also on failure; NULL stands for out of memory. False:
 * out of memory. */
static bool add_key(struct diff_side *side, const char *text, uint32_t length,
		    struct metadata_entry *value)
{
	char *key = arena_copy(side->arena, text, length);

	if (!value || !key || names_add(side->key_index, key, length, side->n_keys) == -ENOMEM) {
		metadata_entry_unref(value);
		return false;
	}
	side->keys[side->n_keys++] = (struct diff_key){ key, length, value };
	return true;
}

static bool add_slot(struct diff_side *side, const struct model *model, uint32_t i,
		     const struct content *content)
{
	struct organ_location at;

	if (content_is_whiteout(content))
		return true;
	at = organ_file_locate(model, i, content);
	at.organ = model_organ_in_place(model, i, content);
	return add_tensor(side, &at, !content || !content->broken);
}

static bool add_model_key(struct diff_side *side, struct model *model, uint32_t i,
			  const struct metadata_edits *edits)
{
	const struct metadata_key key = metadata_key(model->metadata, i);
	const struct metadata_edit *edit = metadata_edits_find(edits, i);
	struct metadata_entry *value = NULL;
	int rc = -ENOENT;

	if (!edit)
		value = metadata_get_as(model->metadata, METADATA_DEFAULT, i, &rc);
	else if (edit->metadatum)
		value = metadata_entry_ref(edit->metadatum);
	if (!value)
		return rc == -ENOENT;
	return add_key(side, key.key, key.length, value);
}

struct diff_side *diff_side_of_model(struct model *model, const struct snapshot *snapshot,
				     const char *name)
{
	const uint32_t n_keys = metadata_count(model->metadata);
	struct diff_side *side = new_side(name, snapshot->n, n_keys);
	uint32_t *order = model_order(model, snapshot->n);
	bool well = side && order;

	for (uint32_t k = 0; well && k < snapshot->n; k++)
		well = add_slot(side, model, order[k], snapshot->content[order[k]]);
	for (uint32_t i = 0; well && i < n_keys; i++)
		well = add_model_key(side, model, i, snapshot->edits);
	free(order);
	if (well)
		return side;
	diff_side_free(side);
	return NULL;
}

struct diff_side *diff_side_of_base(struct backing *file, const struct gguf *gguf, const char *name)
{
	struct diff_side *side = new_side(name, gguf->n_tensors, gguf->n_kv);
	bool well = side != NULL;

	for (uint32_t i = 0; well && i < gguf->n_tensors; i++) {
		const struct organ_location at = { .organ = organ_of_tensor(&gguf->tensors[i]),
						   .file = file,
						   .offset = gguf->tensors[i].offset };

		well = add_tensor(side, &at, true);
	}
	for (uint32_t i = 0; well && i < gguf->n_kv; i++)
		well = add_key(side, gguf->kv[i].key, gguf->kv[i].key_length,
			       metadata_entry_of_base(file, gguf, i));
	if (well)
		return side;
	diff_side_free(side);
	return NULL;
}

const struct diff_tensor *diff_side_tensor(const struct diff_side *side, const char *name,
					   size_t length)
{
	uint32_t i;

	return names_find(side->index, name, length, &i) ? &side->tensors[i] : NULL;
}

const struct diff_key *diff_side_key(const struct diff_side *side, const char *key, size_t length)
{
	uint32_t i;

	return names_find(side->key_index, key, length, &i) ? &side->keys[i] : NULL;
}
