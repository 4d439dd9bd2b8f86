/* SPDX-License-Identifier: MIT */
/* metadata.c - see metadata.h. metadata_entry.c has the values. */
#include "fs/metadata/metadata.h"
#include "fs/metadata/key_filename.h"
#include "fs/metadata/value_parse.h"
#include "fs/util/array_grown.h"
#include "gguf/arena.h"
#include "gguf/error.h"
#include "gguf/layout.h"
#include "gguf/names.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

struct key {
	struct metadata_key key;
	struct metadata_entry *now;   /* if edited; NULL: removed */
	struct metadata_entry *base;  /* NULL: not created yet, or none */
	struct metadata_entry *shown; /* default in place of the base's; NULL: none */
	bool remembered;
	struct value_type type; /* see metadata_set_type() */
};

struct metadata {
	struct backing *base;
	const struct gguf *gguf;
	pthread_mutex_t
		lock; /* protects the members below; held while generation or shown changes */
	atomic_uint_fast64_t generation;
	atomic_uint_fast64_t shown; /* generation of the model for which `shown` values are set */
	uint32_t n, n_edited;
	size_t room;
	struct key *keys;
	struct names *files; /* file name to key number */
	struct arena *arena;
};

bool metadata_is_fixed(const char *key, size_t n)
{
	static const char alignment[] = "general.alignment";

	return (n == sizeof(alignment) - 1 && memcmp(key, alignment, n) == 0) ||
	       (n > 6 && memcmp(key, "split.", 6) == 0);
}

/* Called with the lock held, or before other threads know the metadata. */
static int enter(struct metadata *metadata, const char *key, uint32_t length)
{
	char name[KEY_FILENAME_MAX + 1];
	struct key *entry =
		array_grown(metadata->keys, metadata->n, &metadata->room, sizeof(*entry));
	int rc;

	if (!entry)
		return -ENOMEM;
	metadata->keys = entry;
	entry += metadata->n;
	*entry = (struct key){ .key = { .key = key, .length = length } };
	key_filename(key, length, name);
	entry->key.name = arena_copy(metadata->arena, name, strlen(name));
	entry->key.fixed = metadata_is_fixed(key, length);
	if (!entry->key.name)
		return -ENOMEM;
	rc = names_add(metadata->files, entry->key.name, strlen(name), metadata->n);
	metadata->n += rc == 0;
	return rc;
}

struct metadata *metadata_new(struct backing *base, const struct gguf *gguf, struct error *err)
{
	struct metadata *metadata = calloc(1, sizeof(*metadata));
	int rc = -ENOMEM;

	if (metadata) {
		pthread_mutex_init(&metadata->lock, NULL);
		metadata->base = base;
		metadata->gguf = gguf;
		metadata->files = names_new(gguf->n_kv);
		metadata->arena = arena_new();
		if (metadata->files && metadata->arena)
			rc = 0;
	}
	for (uint32_t i = 0; rc == 0 && i < gguf->n_kv; i++)
		rc = enter(metadata, gguf->kv[i].key, gguf->kv[i].key_length);
	if (rc == 0)
		return metadata;
	metadata_free(metadata);
	if (rc == -EEXIST)
		error_set(err, EBADMSG, ERROR_NO_OFFSET,
			  "two long metadata keys were made to give the same file name");
	else
		error_errno(err, ENOMEM);
	return NULL;
}

void metadata_free(struct metadata *metadata)
{
	if (!metadata)
		return;
	for (uint32_t i = 0; i < metadata->n; i++) {
		metadata_entry_unref(metadata->keys[i].now);
		metadata_entry_unref(metadata->keys[i].base);
		metadata_entry_unref(metadata->keys[i].shown);
	}
	free(metadata->keys);
	names_free(metadata->files);
	arena_free(metadata->arena);
	pthread_mutex_destroy(&metadata->lock);
	free(metadata);
}

uint32_t metadata_count(struct metadata *metadata)
{
	uint32_t n;

	pthread_mutex_lock(&metadata->lock);
	n = metadata->n;
	pthread_mutex_unlock(&metadata->lock);
	return n;
}

bool metadata_find(struct metadata *metadata, const char *name, uint32_t *i)
{
	bool found;

	pthread_mutex_lock(&metadata->lock);
	found = names_find(metadata->files, name, strlen(name), i);
	pthread_mutex_unlock(&metadata->lock);
	return found;
}

struct metadata_key metadata_key(struct metadata *metadata, uint32_t i)
{
	struct metadata_key key;

	pthread_mutex_lock(&metadata->lock);
	key = metadata->keys[i].key;
	pthread_mutex_unlock(&metadata->lock);
	return key;
}

struct metadata_entry *metadata_get_as(struct metadata *metadata, enum metadata_as as, uint32_t i,
				       int *rc)
{
	struct metadata_entry *metadatum = NULL;
	struct key *key;

	*rc = -ENOENT;
	pthread_mutex_lock(&metadata->lock);
	key = &metadata->keys[i];
	if (as == METADATA_NOW && key->key.edited) {
		metadatum = key->now;
	} else if (as != METADATA_OF_BASE && key->shown) {
		metadatum = key->shown;
	} else if (i < metadata->gguf->n_kv) {
		if (!key->base)
			key->base = metadata_entry_of_base(metadata->base, metadata->gguf, i);
		metadatum = key->base;
		*rc = -ENOMEM;
	}
	if (metadatum)
		metadata_entry_ref(metadatum);
	pthread_mutex_unlock(&metadata->lock);
	return metadatum;
}

struct metadata_entry *metadata_get(struct metadata *metadata, uint32_t i, int *rc)
{
	return metadata_get_as(metadata, METADATA_NOW, i, rc);
}

uint64_t metadata_defaults_generation(struct metadata *metadata)
{
	return atomic_load(&metadata->shown);
}

static struct metadata_entry *new_default(const struct metadata *metadata,
					  const struct layout_value *value, uint64_t ino)
{
	struct value_bytes bytes = { malloc(value->length + 1), value->length, value->count };
	struct timespec now;

	if (!bytes.bytes)
		return NULL;
	memcpy(bytes.bytes, value->bytes, value->length);
	clock_gettime(CLOCK_REALTIME, &now);
	return metadata_entry_new(ino, (struct value_type){ value->type, value->element },
				  metadata->gguf->version > 1 ? 8 : 4, &bytes, &now);
}

static bool is_same_default(const struct key *key, const struct layout_value *value)
{
	const struct value *is = key->shown ? metadata_entry_value(key->shown) : NULL;

	return is && is->length == value->length && is->count == value->count &&
	       memcmp(metadata_entry_bytes(key->shown), value->bytes, value->length) == 0;
}

void metadata_set_defaults(struct metadata *metadata, uint64_t generation,
			   const struct layout_values *values, uint64_t (*new_ino)(void *context),
			   void *context)
{
	uint32_t k = 0;

	pthread_mutex_lock(&metadata->lock);
	for (uint32_t i = 0; generation >= metadata->shown && i < metadata->n; i++) {
		struct key *key = &metadata->keys[i];
		const struct layout_value *value =
			k < values->n && values->values[k].kv == i ? &values->values[k++] : NULL;

		if ((!value && !key->shown) || (value && is_same_default(key, value)))
			continue;
		metadata_entry_unref(key->shown);
		key->shown = value ? new_default(metadata, value, new_ino(context)) : NULL;
	}
	if (generation > metadata->shown)
		metadata->shown = generation;
	pthread_mutex_unlock(&metadata->lock);
}

bool metadata_type(struct metadata *metadata, uint32_t i, struct value_type *type)
{
	const struct gguf *gguf = metadata->gguf;
	const struct key *key;
	bool known = true;

	pthread_mutex_lock(&metadata->lock);
	key = &metadata->keys[i];
	if (key->key.edited && key->now)
		*type = metadata_entry_value(key->now)->type;
	else if (key->remembered && (key->key.edited || i >= gguf->n_kv))
		*type = key->type;
	else if (i < gguf->n_kv)
		*type = (struct value_type){ gguf->kv[i].type, gguf->kv[i].element };
	else
		known = false;
	pthread_mutex_unlock(&metadata->lock);
	return known;
}

void metadata_set_type(struct metadata *metadata, uint32_t i, const struct value_type *type)
{
	pthread_mutex_lock(&metadata->lock);
	metadata->keys[i].remembered = type != NULL;
	if (type)
		metadata->keys[i].type = *type;
	pthread_mutex_unlock(&metadata->lock);
}

static void set(struct metadata *metadata, uint32_t i, bool edited,
		struct metadata_entry *metadatum)
{
	struct metadata_entry *before;
	struct key *key;

	pthread_mutex_lock(&metadata->lock);
	key = &metadata->keys[i];
	before = key->now;
	metadata->n_edited += edited;
	metadata->n_edited -= key->key.edited;
	key->key.edited = edited;
	key->now = metadatum;
	metadata->generation++;
	pthread_mutex_unlock(&metadata->lock);
	metadata_entry_unref(before);
}

void metadata_set(struct metadata *metadata, uint32_t i, struct metadata_entry *metadatum)
{
	/* An added key that is removed equals the base, which lacks it. */
	set(metadata, i, metadatum || i < metadata->gguf->n_kv, metadatum);
}

void metadata_reset(struct metadata *metadata, uint32_t i)
{
	set(metadata, i, false, NULL);
}

/* Called with the lock held. */
static int add(struct metadata *metadata, const char *key, size_t n, uint32_t *i)
{
	char name[KEY_FILENAME_MAX + 1];
	const char *copy;
	int rc;

	key_filename(key, n, name);
	if (names_find(metadata->files, name, strlen(name), i))
		return -EEXIST;
	if (metadata->n >= metadata->gguf->n_kv + METADATA_ADDED_MAX)
		return -ENOSPC;
	copy = arena_copy(metadata->arena, key, n);
	rc = copy ? enter(metadata, copy, (uint32_t)n) : -ENOMEM;
	*i = metadata->n - 1;
	return rc;
}

int metadata_add(struct metadata *metadata, const char *key, size_t n, uint32_t *i)
{
	int rc;

	pthread_mutex_lock(&metadata->lock);
	rc = add(metadata, key, n, i);
	pthread_mutex_unlock(&metadata->lock);
	return rc;
}

uint64_t metadata_generation(struct metadata *metadata)
{
	return atomic_load(&metadata->generation);
}

struct metadata_edits *metadata_edits_get(struct metadata *metadata)
{
	struct metadata_edits *edits;

	pthread_mutex_lock(&metadata->lock);
	edits = calloc(1, sizeof(*edits) + metadata->n_edited * sizeof(edits->edits[0]));
	if (edits) {
		atomic_init(&edits->refs, 1);
		edits->generation = metadata->generation;
	}
	for (uint32_t i = 0; edits && i < metadata->n; i++) {
		const struct key *key = &metadata->keys[i];

		if (!key->key.edited)
			continue;
		edits->edits[edits->n++] =
			(struct metadata_edit){ i, key->key,
						key->now ? metadata_entry_ref(key->now) : NULL };
	}
	pthread_mutex_unlock(&metadata->lock);
	return edits;
}

struct metadata_edits *metadata_edits_ref(struct metadata_edits *edits)
{
	if (edits)
		atomic_fetch_add(&edits->refs, 1);
	return edits;
}

void metadata_edits_unref(struct metadata_edits *edits)
{
	if (!edits || atomic_fetch_sub(&edits->refs, 1) != 1)
		return;
	for (uint32_t i = 0; i < edits->n; i++)
		metadata_entry_unref(edits->edits[i].metadatum);
	free(edits);
}

const struct metadata_edit *metadata_edits_find(const struct metadata_edits *edits, uint32_t i)
{
	uint32_t low = 0, high = edits ? edits->n : 0;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (edits->edits[middle].i == i)
			return &edits->edits[middle];
		if (edits->edits[middle].i < i)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

struct metadata_entry *metadata_get_with_edits(struct metadata *metadata,
					       const struct metadata_edits *edits, const char *key)
{
	char name[KEY_FILENAME_MAX + 1];
	const struct metadata_edit *edit;
	uint32_t i;
	int rc;

	key_filename(key, strlen(key), name);
	if (!metadata_find(metadata, name, &i))
		return NULL;
	edit = metadata_edits_find(edits, i);
	if (!edit)
		return metadata_get_as(metadata, METADATA_DEFAULT, i, &rc);
	return edit->metadatum ? metadata_entry_ref(edit->metadatum) : NULL;
}
