/* SPDX-License-Identifier: MIT */
/* block_metadata.c - see block_metadata.h. */
#include "fs/assemble/block_metadata.h"
#include "fs/assemble/model_types.h"
#include "fs/metadata/metadata.h"
#include "fs/model/block_names.h"
#include "fs/model/inode.h"
#include "fs/model/merge_force.h"
#include "fs/storage/backing.h"
#include "gguf/bytes.h"
#include "gguf/error.h"
#include "gguf/layout.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Limit of block numbers; no model has so many blocks. */
#define BLOCKS_MAX 100000

struct blocks {
	uint32_t n;	 /* highest block number plus 1 */
	int32_t *source; /* original block of each; -1: not there, -2: several */
};

#define ABSENT	(-1)
#define SEVERAL (-2)

static bool is_block(const struct organ_place *place)
{
	return place->block >= 0 && place->block < BLOCKS_MAX &&
	       strncmp(place->tensor, "blk.", 4) == 0;
}

/* Original block of the organ in a slot, without the effect of adapters. */
static int32_t origin_of(const struct organ_place *place, struct content *content)
{
	const struct content *own = content_own(content);
	int32_t block = -1;

	if (own)
		block = own->kind == CONTENT_BLEND
				? own->block
				: anatomy_block(own->organ.name, own->organ.name_length);
	return block < 0 ? place->block : block;
}

static int find_blocks(struct model *model, const struct snapshot *snapshot, struct blocks *blocks)
{
	for (uint32_t i = 0; i < snapshot->n; i++)
		if (is_block(&model->places[i]) && !content_is_whiteout(snapshot->content[i]) &&
		    (uint32_t)model->places[i].block >= blocks->n)
			blocks->n = (uint32_t)model->places[i].block + 1;
	blocks->source = malloc((blocks->n + 1u) * sizeof(*blocks->source));
	if (!blocks->source)
		return -ENOMEM;
	for (uint32_t b = 0; b < blocks->n; b++)
		blocks->source[b] = ABSENT;
	for (uint32_t i = 0; i < snapshot->n; i++) {
		const struct organ_place *place = &model->places[i];
		struct content *content = snapshot->content[i];
		int32_t *source;

		if (!is_block(place) || content_is_whiteout(content))
			continue;
		source = &blocks->source[place->block];
		if (*source == ABSENT)
			*source = origin_of(place, content);
		else if (*source != origin_of(place, content))
			*source = SEVERAL;
	}
	return 0;
}

/* Whether the base has exactly the blocks that its metadata counts. */
static bool base_agrees(struct model *model, uint64_t count)
{
	bool *seen = calloc(count + 1, sizeof(*seen));
	uint64_t n = 0;
	bool agrees = seen != NULL;

	for (uint32_t i = 0; agrees && i < model->gguf->n_tensors; i++) {
		const struct organ_place *place = &model->places[i];

		if (!is_block(place))
			continue;
		agrees = (uint64_t)place->block < count;
		if (agrees && !seen[place->block]) {
			seen[place->block] = true;
			n++;
		}
	}
	free(seen);
	return agrees && n == count;
}

/* The entry ARCH.block_count, its value, and the length of "ARCH.". */
static const struct kv *find_count(const struct gguf *gguf, uint64_t *count, size_t *prefix)
{
	static const char ending[] = ".block_count";
	const size_t n = sizeof(ending) - 1;

	for (uint32_t i = 0; i < gguf->n_kv; i++) {
		const struct kv *kv = &gguf->kv[i];

		if (kv->key_length > n && kv_unsigned(kv, count) && *count < BLOCKS_MAX &&
		    memcmp(kv->key + kv->key_length - n, ending, n) == 0) {
			*prefix = kv->key_length - n + 1;
			return kv;
		}
	}
	return NULL;
}

/* Whether the blocks differ from the base's. */
static bool has_changed(const struct blocks *blocks, uint64_t count)
{
	for (uint32_t b = 0; b < blocks->n; b++)
		if (blocks->source[b] != (int32_t)b && blocks->source[b] != SEVERAL)
			return true;
	return blocks->n != count;
}

static int refuse_gaps(const struct blocks *blocks, struct error *err)
{
	char missing[160] = "";
	size_t used = 0;

	for (uint32_t b = 0; b < blocks->n; b++)
		if (blocks->source[b] == ABSENT && used < sizeof(missing) - 24)
			used += (size_t)snprintf(missing + used, sizeof(missing) - used,
						 "%s%" PRIu32, used ? ", " : "", b);
	if (!used)
		return 0;
	return error_set(err, EINVAL, ERROR_NO_OFFSET,
			 "blocks have to run from 0 without a gap, and these are missing: %s",
			 missing);
}

/* Index of block b's entry in the base's arrays. */
static uint64_t entry_of(const struct blocks *blocks, uint32_t b, uint64_t count)
{
	const int32_t source = blocks->source[b];

	if (source >= 0 && (uint64_t)source < count)
		return (uint64_t)source;
	return b < count ? b : count - 1;
}

static int replace_count(uint32_t n, enum kv_type type, struct layout_value *value)
{
	uint8_t *bytes = malloc(8);

	value->type = type;
	value->length = kv_type_size(type);
	value->bytes = bytes;
	if (!bytes)
		return -ENOMEM;
	store_u64(bytes, n);
	return 0;
}

#define PREDICTING "nextn_predict_layers"

/* Number of blocks with tensors for multi-token prediction; snapshot NULL: in the base. */
static uint32_t count_predicting(const struct model *model, const struct snapshot *snapshot)
{
	const uint32_t slots = snapshot ? snapshot->n : model->gguf->n_tensors;
	bool *seen = calloc(BLOCKS_MAX, sizeof(*seen));
	uint32_t n = 0;

	for (uint32_t i = 0; seen && i < slots; i++) {
		const struct organ_place *place = &model->places[i];
		const char *name = is_block(place) ? block_name(place) : NULL;

		if (!name || strncmp(name, "nextn_", 6) != 0 || seen[place->block] ||
		    (snapshot && content_is_whiteout(snapshot->content[i])))
			continue;
		seen[place->block] = true;
		n++;
	}
	free(seen);
	return n;
}

/* Add a value for that key, which the base may lack, unless a user has edited the key. follow owns
 * the value's bytes then, and has room for it. */
static int add_value(struct model *model, const struct snapshot *snapshot, const char *key,
		     const struct layout_value *value, struct layout_values *follow)
{
	struct layout_value *values = (struct layout_value *)follow->values;
	const struct kv *kv = gguf_find(model->gguf, key);
	uint32_t place = follow->n, i = kv ? (uint32_t)(kv - model->gguf->kv) : 0;
	int rc = kv ? 0 : metadata_add(model->metadata, key, strlen(key), &i);

	if (rc == -EEXIST)
		rc = 0;
	if (rc < 0 || metadata_edits_find(snapshot->edits, i)) {
		free((uint8_t *)value->bytes);
		return rc;
	}
	while (place > 0 && values[place - 1].kv > i)
		place--;
	memmove(&values[place + 1], &values[place], (follow->n++ - place) * sizeof(*values));
	values[place] = *value;
	values[place].kv = i;
	if (!kv) {
		const struct metadata_key added = metadata_key(model->metadata, i);

		values[place].key = added.key;
		values[place].key_length = added.length;
	}
	return 0;
}

/* Make the key of multi-token prediction follow the blocks, if the base's key is right, or if the
 * base has neither the key nor such blocks. */
static int follow_predicting(struct model *model, const struct snapshot *snapshot,
			     const struct kv *count_kv, size_t prefix, struct layout_values *follow)
{
	const uint32_t base = count_predicting(model, NULL);
	const uint32_t now = count_predicting(model, snapshot);
	struct layout_value value = { 0 };
	const struct kv *kv;
	uint64_t told = 0;
	char *key;
	int rc = 0;

	if (asprintf(&key, "%.*s" PREDICTING, (int)prefix, count_kv->key) < 0)
		return -ENOMEM;
	kv = gguf_find(model->gguf, key);
	if (now != base && (!kv || kv_unsigned(kv, &told)) && told == base) {
		rc = replace_count(now, kv ? kv->type : KV_U32, &value);
		if (rc == 0)
			rc = add_value(model, snapshot, key, &value, follow);
	}
	free(key);
	return rc;
}

#define CHAT_TEMPLATE "tokenizer.chat_template"

/* Add the chat template of the merge in force as a string; the base may have another type. */
static int follow_template(struct model *model, const struct snapshot *snapshot,
			   struct layout_values *follow)
{
	const char *text = merge_state_template(snapshot->merge);
	struct layout_value value = { .type = KV_STRING };

	if (!text)
		return 0;
	value.length = strlen(text);
	value.bytes = (const uint8_t *)strdup(text);
	return value.bytes ? add_value(model, snapshot, CHAT_TEMPLATE, &value, follow) : -ENOMEM;
}

/* Replace an array of numbers: no model has an array of strings with an entry for each block. */
static int replace_array(struct model *model, const struct blocks *blocks, const struct kv *kv,
			 struct layout_value *value)
{
	const size_t width = kv_type_size(kv->element);
	uint8_t *old = malloc((size_t)kv->length + 1);
	uint8_t *bytes = malloc(blocks->n * width + 1);
	int rc = -ENOMEM;

	value->type = KV_ARRAY;
	value->element = kv->element;
	value->count = blocks->n;
	value->length = blocks->n * width;
	value->bytes = bytes;
	if (old && bytes)
		rc = backing_read(model->base, old, (size_t)kv->length, kv->offset);
	for (uint32_t b = 0; rc == 0 && b < blocks->n; b++)
		memcpy(bytes + b * width, old + entry_of(blocks, b, kv->count) * width, width);
	free(old);
	return rc;
}

static int find_values(struct model *model, const struct metadata_edits *edits,
		       const struct blocks *blocks, const struct kv *count_kv, uint64_t count,
		       size_t prefix, struct layout_values *follow)
{
	const struct gguf *gguf = model->gguf;
	struct layout_value *values = (struct layout_value *)follow->values;
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < gguf->n_kv; i++) {
		const struct kv *kv = &gguf->kv[i];
		struct layout_value *value = &values[follow->n];
		const bool is_count = kv == count_kv;

		if (!is_count &&
		    (kv->type != KV_ARRAY || kv->count != count || !kv_type_size(kv->element) ||
		     kv->key_length < prefix || memcmp(kv->key, count_kv->key, prefix) != 0))
			continue;
		/* A key that the user edited is left alone. */
		if (metadata_edits_find(edits, i))
			continue;
		value->kv = i;
		follow->n++;
		rc = is_count ? replace_count(blocks->n, kv->type, value)
			      : replace_array(model, blocks, kv, value);
	}
	return rc;
}

static int follow_blocks(struct model *model, const struct snapshot *snapshot,
			 struct layout_values *follow, struct error *err)
{
	struct blocks blocks = { 0 };
	const struct kv *kv;
	uint64_t count;
	size_t prefix;
	int rc = 0;

	kv = find_count(model->gguf, &count, &prefix);
	if (kv && count > 0 && base_agrees(model, count)) {
		rc = find_blocks(model, snapshot, &blocks);
		if (rc == 0 && has_changed(&blocks, count))
			rc = refuse_gaps(&blocks, err);
		if (rc == 0 && has_changed(&blocks, count))
			rc = find_values(model, snapshot->edits, &blocks, kv, count, prefix,
					 follow);
		if (rc == 0 && has_changed(&blocks, count))
			rc = follow_predicting(model, snapshot, kv, prefix, follow);
	}
	if (rc == 0)
		rc = model_types_follow(model, snapshot, follow);
	free(blocks.source);
	return rc;
}

int block_metadata_find(struct model *model, const struct snapshot *snapshot,
			struct layout_values *follow, struct error *err)
{
	int rc = 0, of_template = 0;

	*follow = (struct layout_values){ 0 };
	if (!snapshot->grafts)
		return 0;
	/* Room for the two keys that may be added. */
	follow->values = calloc(model->gguf->n_kv + 2u, sizeof(*follow->values));
	if (!follow->values)
		rc = -ENOMEM;
	if (rc == 0 && model->follow)
		rc = follow_blocks(model, snapshot, follow, err);
	if (rc == 0 || rc == -EINVAL)
		of_template = follow_template(model, snapshot, follow);
	if (of_template < 0)
		rc = of_template;
	if (rc < 0 && rc != -EINVAL)
		error_set(err, -rc, ERROR_NO_OFFSET, "%s",
			  rc == -EIO ? "the base cannot be read" : "out of memory");
	return rc;
}

void block_metadata_release(struct layout_values *follow)
{
	for (uint32_t i = 0; i < follow->n; i++)
		free((uint8_t *)follow->values[i].bytes);
	free((struct layout_value *)follow->values);
	*follow = (struct layout_values){ 0 };
}

static uint64_t new_ino(void *context)
{
	return inode_new(context);
}

void block_metadata_show(struct model *model)
{
	struct snapshot snapshot;
	struct layout_values follow;
	int rc;

	if (!model->whole ||
	    model_generation(model) == metadata_defaults_generation(model->metadata) ||
	    model_snapshot(model, &snapshot) < 0)
		return;
	rc = block_metadata_find(model, &snapshot, &follow, NULL);
	if (rc < 0 && rc != -EINVAL)
		block_metadata_release(&follow);
	metadata_set_defaults(model->metadata, snapshot.generation, &follow, new_ino, model);
	block_metadata_release(&follow);
	snapshot_release(&snapshot);
}
