/* SPDX-License-Identifier: MIT */
/* adapters.c - see adapters.h: the set of adapters and their files. adapters_check.c checks whether
 * an adapter fits the model, adapters_merge.c merges adapters into slots. */
#include "fs/metadata/metadata.h"
#include "fs/metadata/value.h"
#include "fs/model/adapters_internal.h"
#include "fs/model/inode.h"
#include "fs/storage/backing.h"
#include "fs/tensor/importance_matrix.h"
#include "fs/tensor/matrix_cache.h"
#include "gguf/control_vector.h"
#include "gguf/error.h"
#include "gguf/pair.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const endings[] = {
	[ADAPTER_GGUF] = ".gguf", [ADAPTER_SCALE] = ".scale", [ADAPTER_ALPHA] = ".alpha"
};

bool adapters_parse(const char *file, enum adapter_file *kind, size_t *length)
{
	const size_t n = strlen(file);

	if (strcmp(file, ADAPTERS_IMPORTANCE) == 0) {
		*kind = ADAPTER_GGUF;
		*length = n;
		return true;
	}
	for (*kind = 0; *kind < ADAPTER_FILES; (*kind)++) {
		const size_t end = strlen(endings[*kind]);

		if (n > end && file[0] != '.' && strcmp(file + n - end, endings[*kind]) == 0) {
			*length = n - end;
			return *kind != ADAPTER_ALPHA ||
			       strcmp(file, ADAPTERS_COPIED ".alpha") == 0;
		}
	}
	return false;
}

/* Find an adapter by name, with either lock held. NULL: none. */
static struct adapter_entry *find(struct adapters *adapters, const char *name, size_t length)
{
	for (uint32_t i = 0; i < adapters->n; i++) {
		struct adapter_entry *entry = adapters->entries[i];

		if (strlen(entry->name) == length && memcmp(entry->name, name, length) == 0)
			return entry;
	}
	return NULL;
}

/* The caller holds both locks. */
static int add(struct adapters *adapters, const char *name, size_t length, struct error *err)
{
	struct adapter_entry *entry =
		adapters->n < ADAPTERS_NAMES ? calloc(1, sizeof(*entry)) : NULL;
	uint32_t i = adapters->n;

	if (entry)
		entry->name = strndup(name, length);
	if (!entry || !entry->name) {
		free(entry);
		return i < ADAPTERS_NAMES
			       ? -ENOMEM
			       : error_set(err, ENOSPC, ERROR_NO_OFFSET,
					   "a mount takes at most %d names of adapters: mount the "
					   "model again",
					   ADAPTERS_NAMES);
	}
	entry->number = i;
	adapters->entries[adapters->n++] = entry;
	for (; i > 0 && strcmp(adapters->order[i - 1]->name, entry->name) > 0; i--)
		adapters->order[i] = adapters->order[i - 1];
	adapters->order[i] = entry;
	return 0;
}

/* The caller holds both locks. */
static uint32_t count_links(const struct adapters *adapters)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < adapters->n; i++)
		n += adapters->entries[i]->link != NULL;
	return n;
}

int adapters_reserve(struct model *model, const char *name, size_t length, enum adapter_file kind,
		     struct error *err)
{
	struct adapters *adapters = model->adapters;
	const struct adapter_entry *entry;
	int rc = 0;

	pthread_mutex_lock(&adapters->lock);
	entry = find(adapters, name, length);
	if (kind == ADAPTER_GGUF && !(entry && entry->link) &&
	    count_links(adapters) >= ADAPTERS_MAX)
		rc = error_set(err, ENOSPC, ERROR_NO_OFFSET,
			       "a model takes at most %d adapters: remove one", ADAPTERS_MAX);
	else if (!entry)
		rc = add(adapters, name, length, err);
	pthread_mutex_unlock(&adapters->lock);
	return rc;
}

static bool has_pairs_in_base(const struct model *model)
{
	size_t n;

	for (uint32_t i = 0; i < model->gguf->n_tensors; i++)
		if (pair_half(model->places[i].tensor, model->places[i].tensor_length, &n) !=
		    PAIR_NONE)
			return true;
	return false;
}

struct adapters *adapters_new(struct model *model)
{
	struct adapters *adapters = calloc(1, sizeof(*adapters));

	if (!adapters)
		return NULL;
	pthread_mutex_init(&adapters->lock, NULL);
	adapters->apply = model->whole && !has_pairs_in_base(model);
	for (uint32_t i = 0; i < model->gguf->n_tensors; i++) {
		const struct organ_place *place = &model->places[i];
		const int32_t block = adapters_block(place->tensor, place->tensor_length);

		if (block >= 0 && (uint64_t)block >= adapters->blocks)
			adapters->blocks = (uint64_t)block + 1;
	}
	adapters->matrix_cache = matrix_cache_new();
	if (!adapters->matrix_cache ||
	    add(adapters, ADAPTERS_COPIED, strlen(ADAPTERS_COPIED), NULL) < 0) {
		adapters_free(adapters);
		return NULL;
	}
	slots_set_listener(model->slots, adapters_slot_changed, model);
	return adapters;
}

void adapters_free(struct adapters *adapters)
{
	if (!adapters)
		return;
	for (uint32_t i = 0; i < adapters->n; i++) {
		struct adapter_entry *entry = adapters->entries[i];

		content_unref(entry->link);
		gguf_free(entry->gguf);
		free(entry->name);
		free(entry);
	}
	matrix_cache_unref(adapters->matrix_cache);
	importance_matrix_unref(adapters->importance);
	pthread_mutex_destroy(&adapters->lock);
	free(adapters);
}

bool adapters_apply(const struct model *model)
{
	return model->adapters->apply;
}

bool adapters_is_half(const struct model *model, uint32_t slot)
{
	return model->adapters->apply && slot >= model->gguf->n_tensors &&
	       model->places[slot].klass == CLASS_ADAPTERS;
}

struct importance_matrix *adapters_importance(const struct model *model)
{
	struct adapters *adapters = model->adapters;
	struct importance_matrix *matrix;

	pthread_mutex_lock(&adapters->lock);
	matrix = adapters->importance ? importance_matrix_ref(adapters->importance) : NULL;
	pthread_mutex_unlock(&adapters->lock);
	return matrix;
}

uint32_t adapters_importance_changes(const struct model *model)
{
	return atomic_load(&model->adapters->importance_changes);
}

/* Put the matrix in file, which was checked, in force. gguf NULL: no matrix. */
static void set_importance(struct adapters *adapters, struct backing *file, struct gguf *gguf)
{
	struct importance_matrix *before, *matrix = NULL;

	if (gguf)
		matrix = importance_matrix_new(backing_ref(file), gguf);
	pthread_mutex_lock(&adapters->lock);
	before = adapters->importance;
	adapters->importance = matrix;
	atomic_fetch_add(&adapters->importance_changes, 1);
	pthread_mutex_unlock(&adapters->lock);
	importance_matrix_unref(before);
}

void adapters_set_link(struct model *model, const char *name, size_t length, struct content *link,
		       struct gguf *gguf)
{
	struct adapters *adapters = model->adapters;
	struct adapter_entry *entry = find(adapters, name, length);
	struct content *before = entry->link;
	struct gguf *gguf_before = entry->gguf;

	if (adapters_is_importance(name)) {
		set_importance(adapters, link ? link->file : NULL, gguf);
		gguf = NULL;
	}
	pthread_mutex_lock(&adapters->lock);
	entry->link = link;
	entry->gguf = gguf;
	entry->alpha = gguf ? pair_alpha(gguf) : 0.0f;
	if (!link)
		memset(&entry->settings[ADAPTER_SCALE], 0, sizeof(struct adapter_setting));
	pthread_mutex_unlock(&adapters->lock);
	content_unref(before);
	gguf_free(gguf_before);
}

struct content *adapters_link(struct model *model, const char *name, size_t length)
{
	const struct adapter_entry *entry = find(model->adapters, name, length);

	return entry && entry->link ? content_ref(entry->link) : NULL;
}

void adapters_set_value(struct model *model, const char *name, size_t length,
			enum adapter_file kind, const struct adapter_scale *value,
			const struct timespec *mtime)
{
	struct adapters *adapters = model->adapters;
	struct adapter_setting *setting = &find(adapters, name, length)->settings[kind];

	pthread_mutex_lock(&adapters->lock);
	setting->set = value != NULL;
	setting->value = value ? *value : (struct adapter_scale){ .n = 1 };
	setting->mtime = *mtime;
	pthread_mutex_unlock(&adapters->lock);
}

int adapters_check_scale(struct model *model, const char *name, size_t length,
			 const struct adapter_scale *scale, const struct gguf *gguf,
			 struct error *err)
{
	const struct adapter_entry *entry = find(model->adapters, name, length);
	const bool keeps_norm =
		scale ? scale->keeps_norm : entry && adapter_entry_scale(entry)->keeps_norm;

	if (!gguf && entry)
		gguf = entry->gguf;
	if (!keeps_norm || (!gguf && entry && entry->link) || (gguf && control_vector_is(gguf)))
		return 0;
	return error_set(err, EINVAL, ERROR_NO_OFFSET,
			 "norm=keep is for control vectors, and %.*s.gguf is %s", (int)length, name,
			 gguf ? "none" : "not linked yet");
}

bool adapters_has_copied(struct model *model)
{
	uint32_t pairs, halves;
	uint64_t bytes;

	adapters_count(model, &pairs, &halves, &bytes);
	return pairs || halves;
}

bool adapters_copied_alpha(struct model *model, float *alpha)
{
	struct adapters *adapters = model->adapters;
	bool known;

	pthread_mutex_lock(&adapters->lock);
	known = adapters->entries[0]->settings[ADAPTER_ALPHA].set;
	*alpha = (float)adapters->entries[0]->settings[ADAPTER_ALPHA].value.numbers[0];
	pthread_mutex_unlock(&adapters->lock);
	return known;
}

bool adapters_note_alpha(struct model *model, float alpha)
{
	struct adapters *adapters = model->adapters;
	bool is;

	pthread_mutex_lock(&adapters->lock);
	is = adapters->noted_alpha != alpha;
	adapters->noted_alpha = alpha;
	pthread_mutex_unlock(&adapters->lock);
	return is;
}

static bool own_alpha(struct model *model, float *alpha)
{
	struct metadata_entry *metadatum;
	uint64_t bits = 0;
	uint32_t i, low;
	bool known = false;
	int rc;

	if (model->adapters->apply || !has_pairs_in_base(model) ||
	    !metadata_find(model->metadata, PAIR_ALPHA_KEY, &i))
		return false;
	metadatum = metadata_get(model->metadata, i, &rc);
	if (metadatum)
		known = metadata_entry_value(metadatum)->type.type == KV_F32 &&
			value_scalar(metadata_entry_value(metadatum), 0, &bits);
	metadata_entry_unref(metadatum);
	low = (uint32_t)bits;
	memcpy(alpha, &low, sizeof(*alpha));
	return known;
}

/* Does the file of an entry exist, and with which value? copied: copied halves exist. The caller
 * holds the lock. */
static bool value_of(const struct adapter_entry *entry, enum adapter_file kind, bool copied,
		     struct adapter_scale *value)
{
	const struct adapter_setting *setting = &entry->settings[kind];

	*value = setting->set
			 ? setting->value
			 : (struct adapter_scale){ .n = 1, .numbers = { kind == ADAPTER_SCALE } };
	if (kind == ADAPTER_ALPHA)
		return entry->number == 0 && (setting->set || copied);
	return setting->set || entry->link || (entry->number == 0 && copied);
}

/* State of the model that entries do not have. */
struct adapter_state {
	bool copied;	/* copied halves exist */
	bool has_alpha; /* the model is an adapter and states its alpha */
	float alpha;
};

static struct adapter_state see(struct model *model)
{
	struct adapter_state seen = { .copied = model->adapters->apply &&
						adapters_has_copied(model) };

	seen.has_alpha = own_alpha(model, &seen.alpha);
	return seen;
}

/* Fill shown for a file of the entry, with the lock held. False: the file does not exist. */
static bool show(struct model *model, struct adapter_entry *entry, enum adapter_file kind,
		 const struct adapter_state *seen, struct adapter_attr *shown)
{
	struct adapter_setting *setting = &entry->settings[kind];
	char text[ADAPTER_TEXT_MAX];
	struct adapter_scale value;
	bool there;

	if (adapters_is_importance(entry->name) && kind != ADAPTER_GGUF)
		return false;
	*shown = (struct adapter_attr){ .number = entry->number * ADAPTER_FILES + kind,
					.kind = kind };
	if (kind == ADAPTER_GGUF) {
		if (!entry->link)
			return false;
		shown->set = true;
		shown->link = content_ref(entry->link);
		shown->ino = entry->link->ino;
		shown->mtime = entry->link->mtime;
		return true;
	}
	there = value_of(entry, kind, seen->copied, &value);
	if (seen->has_alpha && entry->number == 0 && kind == ADAPTER_ALPHA) {
		there = true;
		value.numbers[0] = (double)seen->alpha;
	}
	if (!there)
		return false;
	adapter_scale_print(&value, text);
	if (!setting->ino || strcmp(setting->text, text) != 0) {
		memcpy(setting->text, text, sizeof(text));
		setting->ino = inode_new(model);
	}
	memcpy(shown->text, text, sizeof(text));
	shown->set = setting->set;
	shown->ino = setting->ino;
	shown->mtime = setting->set  ? setting->mtime
		       : entry->link ? entry->link->mtime
				     : backing_stat(model->base)->st_mtim;
	return true;
}

bool adapters_lookup(struct model *model, const char *file, struct adapter_attr *shown)
{
	struct adapters *adapters = model->adapters;
	enum adapter_file kind;
	struct adapter_entry *entry;
	struct adapter_state seen;
	size_t length;
	bool there = false;

	if (!adapters_parse(file, &kind, &length))
		return false;
	seen = see(model);
	pthread_mutex_lock(&adapters->lock);
	entry = find(adapters, file, length);
	if (entry)
		there = show(model, entry, kind, &seen, shown);
	pthread_mutex_unlock(&adapters->lock);
	return there;
}

static void write_name(const struct adapter_entry *entry, enum adapter_file kind,
		       char file[NAME_MAX + 1])
{
	snprintf(file, NAME_MAX + 1, "%.*s%s", NAME_MAX - 8, entry->name,
		 adapters_is_importance(entry->name) ? "" : endings[kind]);
}

bool adapters_next(struct model *model, uint64_t *place, char file[NAME_MAX + 1],
		   struct adapter_attr *shown)
{
	struct adapters *adapters = model->adapters;
	const struct adapter_state seen = see(model);
	bool there = false;

	pthread_mutex_lock(&adapters->lock);
	for (; *place < (uint64_t)adapters->n * ADAPTER_FILES; ++*place) {
		struct adapter_entry *entry = adapters->entries[*place / ADAPTER_FILES];
		const enum adapter_file kind = (enum adapter_file)(*place % ADAPTER_FILES);

		there = show(model, entry, kind, &seen, shown);
		if (there) {
			write_name(entry, kind, file);
			break;
		}
	}
	pthread_mutex_unlock(&adapters->lock);
	return there;
}

void adapters_name(struct model *model, uint32_t number, char file[NAME_MAX + 1])
{
	struct adapters *adapters = model->adapters;

	pthread_mutex_lock(&adapters->lock);
	write_name(adapters->entries[number / ADAPTER_FILES],
		   (enum adapter_file)(number % ADAPTER_FILES), file);
	pthread_mutex_unlock(&adapters->lock);
}

bool adapters_any(struct model *model)
{
	char file[NAME_MAX + 1];
	struct adapter_attr shown;
	uint64_t place = 0;

	for (; adapters_next(model, &place, file, &shown); place++) {
		content_unref(shown.link);
		if (!adapters_is_importance(file))
			return true;
	}
	return false;
}

bool adapters_broken(struct model *model)
{
	struct adapters *adapters = model->adapters;
	bool broken = false;

	pthread_mutex_lock(&adapters->lock);
	for (uint32_t i = 0; i < adapters->n; i++)
		broken |= adapters->entries[i]->link && adapters->entries[i]->link->broken;
	pthread_mutex_unlock(&adapters->lock);
	return broken;
}

/* Number of the tensors of the base that the adapter in a file changes. */
static uint32_t count_touched(const struct model *model, const struct adapter_entry *entry)
{
	const struct gguf *gguf = entry->gguf;
	const bool directed = control_vector_is(gguf);
	const uint32_t tensors = directed ? model->gguf->n_tensors : gguf->n_tensors;
	uint32_t n = 0;
	bool by_row;

	for (uint32_t i = 0; i < tensors; i++) {
		const struct gguf_tensor *tensor =
			directed ? &model->gguf->tensors[i] : &gguf->tensors[i];
		size_t length = tensor->name_length;
		const bool counts = directed ? control_vector_direction(gguf, tensor->name, length,
									&by_row) != NULL
					     : pair_half(tensor->name, length, &length) == PAIR_A;

		n += counts && adapter_entry_scale_at(model, entry, tensor->name, length) != 0.0f;
	}
	return n;
}

static bool list_link(const struct model *model, const struct adapter_entry *entry,
		      struct adapter_line *line)
{
	const struct content *link = entry->link;

	*line = (struct adapter_line){ .scale = *adapter_entry_scale(entry), .mtime = link->mtime };
	for (uint32_t i = 0; entry->gguf && i < entry->gguf->n_tensors; i++)
		line->bytes += entry->gguf->tensors[i].size;
	if (adapters_is_importance(entry->name))
		line->bytes = backing_size(link->file);
	if (entry->gguf)
		line->touched = count_touched(model, entry);
	line->file = strdup(backing_path(link->file));
	if (link->broken)
		line->broken = strdup(link->broken);
	return line->file && (line->broken || !link->broken) &&
	       asprintf(&line->name, "%s%s", entry->name,
			adapters_is_importance(entry->name) ? "" : endings[ADAPTER_GGUF]) >= 0;
}

static bool list_copied(struct model *model, const struct adapter_entry *entry,
			struct adapter_line *line)
{
	*line = (struct adapter_line){ .scale = *adapter_entry_scale(entry),
				       .mtime = entry->settings[ADAPTER_SCALE].set
							? entry->settings[ADAPTER_SCALE].mtime
							: backing_stat(model->base)->st_mtim };
	adapters_count(model, &line->touched, &line->halves, &line->bytes);
	if (!adapter_scale_applies(&line->scale))
		line->touched = 0;
	line->name = strdup(entry->name);
	return line->name != NULL;
}

/* The caller holds the lock. */
static bool list_set(struct model *model, const struct adapter_state *seen,
		     struct adapter_list *list)
{
	struct adapters *adapters = model->adapters;

	list->set = calloc((size_t)adapters->n * ADAPTER_FILES + 1, sizeof(*list->set));
	if (!list->set)
		return false;
	for (uint32_t i = 0; i < adapters->n * ADAPTER_FILES; i++) {
		struct adapter_entry *entry = adapters->order[i / ADAPTER_FILES];
		const enum adapter_file kind = (enum adapter_file)(i % ADAPTER_FILES);
		struct adapter_set *set = &list->set[list->n_set];

		if (!show(model, entry, kind, seen, &set->shown))
			continue;
		write_name(entry, kind, set->file);
		if (set->shown.set)
			list->n_set++;
		else
			content_unref(set->shown.link);
	}
	return true;
}

struct adapter_list *adapters_list(struct model *model)
{
	struct adapters *adapters = model->adapters;
	struct adapter_list *list = calloc(1, sizeof(*list));
	const struct adapter_state seen = see(model);
	bool well = list && (list->lines = calloc(ADAPTERS_MAX + 1u, sizeof(*list->lines)));

	pthread_mutex_lock(&adapters->lock);
	for (uint32_t i = 0; well && i < adapters->n; i++) {
		const struct adapter_entry *entry = adapters->order[i];

		if (entry->link)
			well = list_link(model, entry, &list->lines[list->n++]);
		if (entry->link && entry->link->broken)
			list->broken++;
		if (well && seen.copied && entry->number == 0)
			well = list_copied(model, entry, &list->lines[list->n++]);
	}
	well = well && list_set(model, &seen, list);
	pthread_mutex_unlock(&adapters->lock);
	if (well)
		return list;
	adapter_list_free(list);
	return NULL;
}

void adapter_list_free(struct adapter_list *list)
{
	if (!list)
		return;
	for (uint32_t i = 0; i < list->n; i++) {
		free(list->lines[i].name);
		free(list->lines[i].file);
		free(list->lines[i].broken);
	}
	for (uint32_t i = 0; i < list->n_set; i++)
		content_unref(list->set[i].shown.link);
	free(list->set);
	free(list->lines);
	free(list);
}
