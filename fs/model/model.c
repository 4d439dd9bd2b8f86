/* SPDX-License-Identifier: MIT */
/* model.c - see model.h. */
#include "fs/model/model.h"
#include "fs/base/base.h"
#include "fs/base/shards.h"
#include "fs/layer/layer.h"
#include "fs/metadata/metadata.h"
#include "fs/model/adapters.h"
#include "fs/model/inode.h"
#include "fs/model/merge_force.h"
#include "fs/model/removal.h"
#include "fs/storage/backing.h"
#include "fs/util/array_grown.h"
#include "fs/util/home.h"
#include "fs/util/log.h"
#include "fs/util/paths.h"
#include "gguf/arena.h"
#include "gguf/error.h"
#include "gguf/file_names.h"
#include "gguf/names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static int name_files(struct model *model)
{
	const char **names = calloc(model->gguf->n_tensors + 1u, sizeof(const char *));
	const int rc = names ? file_names(model->gguf, model->arena, names) : -ENOMEM;

	for (uint32_t i = 0; rc == 0 && i < model->gguf->n_tensors; i++)
		model->places[i].name = names[i];
	free(names);
	return rc;
}

/* Enter the slot's name into its class. */
static int enter(struct model *model, uint32_t i)
{
	const struct organ_place *place = &model->places[i];
	struct members *members = &model->members[place->klass];
	uint32_t *more = array_grown(members->slots, members->n, &members->room, sizeof(*more));

	if (!more)
		return -ENOMEM;
	members->slots = more;
	members->slots[members->n++] = i;
	return names_add(model->files[place->klass], place->name, strlen(place->name), i);
}

static int sort_into_classes(struct model *model)
{
	const struct gguf *gguf = model->gguf;

	for (uint32_t i = 0; i < gguf->n_tensors; i++) {
		const struct gguf_tensor *t = &gguf->tensors[i];

		model->places[i].klass = anatomy_class(t->name, t->name_length);
		model->places[i].block = anatomy_block(t->name, t->name_length);
		model->places[i].tensor = t->name;
		model->places[i].tensor_length = t->name_length;
		model->members[model->places[i].klass].room++;
	}
	for (enum organ_class klass = 0; klass < CLASSES; klass++) {
		struct members *members = &model->members[klass];

		members->slots = calloc(++members->room, sizeof(uint32_t));
		model->files[klass] = names_new(members->room);
		if (!members->slots || !model->files[klass])
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < gguf->n_tensors; i++) {
		const int rc = enter(model, i);

		if (rc < 0)
			return rc;
	}
	return 0;
}

static int arrange(struct model *model, struct error *err)
{
	/* calloc() leaves the pages of unused places untouched. */
	model->places =
		calloc((size_t)model->gguf->n_tensors + MODEL_ADDED_MAX, sizeof(*model->places));
	model->arena = arena_new();
	model->slots = slots_new(model->gguf->n_tensors);
	if (!model->places || !model->arena || !model->slots || name_files(model) < 0)
		return error_errno(err, ENOMEM);
	switch (sort_into_classes(model)) {
	case 0:
		return 0;
	case -EEXIST:
		return error_set(err, EBADMSG, ERROR_NO_OFFSET,
				 "two long tensor names were made to give the same file name");
	default:
		return error_errno(err, ENOMEM);
	}
}

/* $XDG_STATE_HOME/organfs, by default ~/.local/state/organfs. */
static char *state_directory(void)
{
	const char *state = getenv("XDG_STATE_HOME");
	char *path;

	if (!state || state[0] != '/')
		return home_path(".local/state/organfs");
	return asprintf(&path, "%s/organfs", state) < 0 ? NULL : path;
}

static int open_private(struct model *model, const struct layer_options *manner, struct error *err)
{
	char *state = state_directory();

	if (!state)
		return error_errno(err, ENOMEM);
	model->layer = layer_open_private(state, manner, model->base, model->gguf, err);
	free(state);
	return model->layer ? 0 : -err->code;
}

static int open_layer(struct model *model, const struct model_options *options,
		      struct model_params *site, struct error *err)
{
	const struct layer_options manner = { .level = options->compress,
					      .read_only = options->read_only,
					      .fresh = options->fresh,
					      .log = site->log,
					      .cache = site->cache };
	int rc = 0;

	if (site->layer) {
		model->layer = layer_open_at(site->layer, &manner, model->base, model->gguf, err);
		site->layer_refused = !model->layer;
		rc = model->layer ? 0 : -err->code;
	} else if (!options->read_only) {
		rc = open_private(model, &manner, err);
	}
	return rc;
}

/* Open the base at path, or with the shards of a model that takes another's place. */
static int open_base(struct model *model, const struct model_options *options, const char *path,
		     const struct model_params *site, struct error *err)
{
	struct base base;
	const int rc = site->old ? base_open_shards(&base, site->shards, err)
				 : base_open_with(&base, path,
						  &(struct base_options){ .header = options->header,
									  .remote = site->remote,
									  .mounted = true },
						  err);

	model->base = base.file;
	model->gguf = base.gguf;
	model->shards = base.shards;
	model->whole = !base.shards || shards_are_complete(base.shards);
	if (rc == 0)
		backing_set_log(base.file, site->log);
	if (rc == 0 && base.shards && !site->old)
		shards_log(base.shards, NULL, site->log);
	return rc;
}

static int name_model(struct model *model, const char *path, const struct model_params *site)
{
	const char *given = site->known ? site->known : path;

	model->name = site->old ? strdup(site->old->name) : paths_stem(given);
	model->directory = site->old ? strdup(site->old->directory) : paths_directory(given);
	model->known = site->known ? strdup(site->known) : NULL;
	return model->name && model->directory && (model->known || !site->known) ? 0 : -ENOMEM;
}

/* Log the number of short tensors of the base and the first of them. */
static void report_short(const struct model *model)
{
	const struct gguf *gguf = model->gguf;
	char path[ORGAN_PATH_MAX], text[ORGAN_SHORT_MAX];
	uint32_t first = 0, n = 0;
	struct organ organ;

	for (uint32_t i = gguf->n_tensors; i-- > 0;)
		if (type_is_short(gguf->tensors[i].type)) {
			first = i;
			n++;
		}
	if (n == 0)
		return;
	organ = organ_of_tensor(&gguf->tensors[first]);
	log_add(model->log,
		"%s: %" PRIu32 " tensor%s short, %s for one: %s; none of them is measured or "
		"grafted",
		model->name, n, n == 1 ? " is" : "s are", model_organ_path(model, first, path),
		organ_short_text(&organ, text));
}

static struct model *model_new(const struct model_options *options, const struct model_params *site)
{
	struct model *model = calloc(1, sizeof(*model));

	if (!model)
		return NULL;
	pthread_mutex_init(&model->journal.commit, NULL);
	pthread_cond_init(&model->journal.moved, NULL);
	pthread_mutex_init(&model->experts_lock, NULL);
	pthread_mutex_init(&model->names_lock, NULL);
	pthread_mutex_init(&model->sent_lock, NULL);
	atomic_init(&model->next_ino, INODE_FIRST);
	atomic_init(&model->seconds, 0);
	atomic_init(&model->removal, NULL);
	model->number = site->number;
	model->log = site->log;
	model->remote = site->remote;
	model->any_shape = options->any_shape;
	model->merged = options->merged;
	model->keep_types = options->keep_types;
	model->follow = !options->keep_blocks;
	model->first = site->old ? site->old->first : model;
	atomic_init(&model->latest, model);
	if (site->old)
		model->generation_before = model_generation(site->old) + 1;
	return model;
}

struct model *model_open(const struct model_options *options, const char *path,
			 struct model_params *site, struct error *err)
{
	struct model *model = model_new(options, site);
	int rc;

	if (!model) {
		error_errno(err, ENOMEM);
		return NULL;
	}
	rc = open_base(model, options, path, site, err);
	if (rc == 0)
		rc = arrange(model, err);
	if (rc == 0) {
		model->metadata = metadata_new(model->base, model->gguf, err);
		rc = model->metadata ? 0 : -err->code;
	}
	if (rc == 0 && name_model(model, path, site) < 0)
		rc = error_errno(err, ENOMEM);
	if (rc == 0 && !(model->adapters = adapters_new(model)))
		rc = error_errno(err, ENOMEM);
	/* Without all shards, the base has no fingerprint by which to find its layers. */
	if (rc == 0 && model->whole)
		rc = open_layer(model, options, site, err);
	if (rc == 0) {
		report_short(model);
		return model;
	}
	model_close(model);
	return NULL;
}

bool model_shares_tensor(const struct model *model, uint32_t tensor, const struct model *old,
			 uint32_t *was)
{
	const struct gguf_tensor *t = &model->gguf->tensors[tensor];
	const struct gguf_tensor *before = gguf_tensor(old->gguf, t->name, t->name_length);
	uint64_t at = t->offset, length = t->size, then, as_long;
	const struct backing *file;

	if (!before)
		return false;
	*was = (uint32_t)(before - old->gguf->tensors);
	then = before->offset;
	as_long = before->size;
	file = backing_file_at(model->base, &at, &length);
	return file && file == backing_file_at(old->base, &then, &as_long) && at == then &&
	       length == as_long;
}

char *model_missing_shards(const struct model *model)
{
	return model->whole ? NULL : shards_missing_text(model->shards);
}

void model_close(struct model *model)
{
	if (!model)
		return;
	removal_keep(model, NULL);
	slots_free(model->slots);
	adapters_free(model->adapters);
	merge_state_unref(model->merge);
	/* The layer is closed after all contents whose bytes are in it. */
	layer_close(model->layer);
	metadata_free(model->metadata);
	for (enum organ_class klass = 0; klass < CLASSES; klass++) {
		names_free(model->files[klass]);
		free(model->members[klass].slots);
	}
	arena_free(model->arena);
	free(model->places);
	gguf_free(model->gguf);
	backing_unref(model->base);
	shards_unref(model->shards);
	pthread_mutex_destroy(&model->journal.commit);
	pthread_cond_destroy(&model->journal.moved);
	pthread_mutex_destroy(&model->experts_lock);
	pthread_mutex_destroy(&model->names_lock);
	pthread_mutex_destroy(&model->sent_lock);
	free(model->shown);
	free(model->known);
	free(model->directory);
	free(model->name);
	free(model);
}

const char *model_fingerprint(struct model *model)
{
	if (!model->fingerprint[0] && fingerprint(model->base, model->gguf, model->fingerprint) < 0)
		model->fingerprint[0] = '\0';
	return model->fingerprint;
}

struct timespec model_time(struct model *model)
{
	struct timespec time = backing_stat(model->base)->st_mtim;
	uint32_t seconds = (uint32_t)atomic_load(&model->seconds);

	/* Two threads at once compute the same value. */
	if (!seconds) {
		seconds = fingerprint_seconds(model->base, model->gguf);
		atomic_store(&model->seconds, seconds);
	}
	time.tv_sec -= seconds;
	return time;
}

bool model_class_time(struct model *model, enum organ_class klass, struct timespec *time)
{
	uint32_t tensor;

	for (uint32_t k = 0; model_class_slot(model, klass, k, &tensor); k++) {
		struct content *content = slots_get(model->slots, tensor);
		const struct timespec its = content ? content->mtime : model_time(model);
		const bool there = !content_is_whiteout(content);

		content_unref(content);
		if (k == 0)
			*time = its;
		if (!there || !is_same_time(&its, time))
			return false;
	}
	return model_class_count(model, klass) > 0;
}

static struct timespec directory_time(struct model *model, unsigned directory)
{
	struct timespec time;

	if (model->layer && layer_time(model->layer, directory, &time))
		return time;
	pthread_mutex_lock(&model->names_lock);
	time = model->set[directory];
	pthread_mutex_unlock(&model->names_lock);
	return time.tv_sec || time.tv_nsec ? time : backing_stat(model->base)->st_mtim;
}

/* The time is read under the lock: a change whose thread takes the lock first is included, a later
 * one finds the time noted as sent. If several times were sent, the kernel may have cached any of
 * them. */
struct timespec model_send_directory_time(struct model *model, unsigned directory)
{
	struct model *first = model->first;
	struct sent_times *sent = &first->sent[directory];
	struct timespec time;

	pthread_mutex_lock(&first->sent_lock);
	time = directory_time(model, directory);
	if (sent->count == SENT_NONE)
		*sent = (struct sent_times){ SENT_ONE, time };
	else if (!is_same_time(&time, &sent->time))
		sent->count = SENT_SEVERAL;
	pthread_mutex_unlock(&first->sent_lock);
	return time;
}

/* The caller holds sent_lock. */
static bool may_be_kept(struct model *model, unsigned directory)
{
	const struct sent_times *sent = &model->first->sent[directory];
	struct timespec time;

	if (sent->count != SENT_ONE)
		return sent->count == SENT_SEVERAL;
	time = directory_time(model, directory);
	return !is_same_time(&time, &sent->time);
}

void model_tell_directories(struct model *model, void (*tell)(void *context, uint64_t ino),
			    void *context)
{
	struct model *first = model->first;

	pthread_mutex_lock(&first->sent_lock);
	for (unsigned i = 0; i < MODEL_DIRECTORIES; i++) {
		if (!may_be_kept(model, i))
			continue;
		tell(context, i == MODEL_METADATA ? inode_of_directory(model, INODE_METADATA, 0)
						  : inode_of_directory(model, INODE_CLASS, i));
		first->sent[i].count = SENT_NONE;
	}
	pthread_mutex_unlock(&first->sent_lock);
}

int model_set_directory_time(struct model *model, unsigned directory, const struct timespec *time)
{
	pthread_mutex_lock(&model->names_lock);
	model->set[directory] = *time;
	pthread_mutex_unlock(&model->names_lock);
	return layer_set_time(model->layer, directory, time);
}

bool model_find_slot(struct model *model, enum organ_class klass, const char *name, size_t length,
		     uint32_t *tensor)
{
	bool found;

	pthread_mutex_lock(&model->names_lock);
	found = names_find(model->files[klass], name, length, tensor);
	pthread_mutex_unlock(&model->names_lock);
	return found;
}

bool model_class_slot(struct model *model, enum organ_class klass, uint32_t k, uint32_t *tensor)
{
	const struct members *members = &model->members[klass];
	bool found;

	pthread_mutex_lock(&model->names_lock);
	found = k < members->n;
	if (found)
		*tensor = members->slots[k];
	pthread_mutex_unlock(&model->names_lock);
	return found;
}

static int compare_names(const void *a, const void *b, void *model)
{
	const struct organ_place *places = ((const struct model *)model)->places;
	const struct organ_place *x = &places[*(const uint32_t *)a];
	const struct organ_place *y = &places[*(const uint32_t *)b];

	return names_compare(x->tensor, x->tensor_length, y->tensor, y->tensor_length);
}

uint32_t *model_order(const struct model *model, uint32_t n)
{
	const uint32_t base = model->gguf->n_tensors;
	uint32_t *order = calloc(n + 1u, sizeof(*order));

	if (!order)
		return NULL;
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	if (n > base)
		qsort_r(order + base, n - base, sizeof(*order), compare_names, (void *)model);
	return order;
}

uint32_t model_class_count(struct model *model, enum organ_class klass)
{
	uint32_t n;

	pthread_mutex_lock(&model->names_lock);
	n = model->members[klass].n;
	pthread_mutex_unlock(&model->names_lock);
	return n;
}

/* The caller holds the lock of names. */
static int add_slot(struct model *model, const struct organ_place *place, struct content *content)
{
	struct slots *slots = model->slots;
	uint32_t i;
	int rc;

	if (names_find(model->files[place->klass], place->name, strlen(place->name), &i))
		return -EEXIST;
	i = slots_count(slots);
	if (i >= model->gguf->n_tensors + MODEL_ADDED_MAX)
		return -ENOSPC;
	model->places[i] = *place;
	model->places[i].name = arena_copy(model->arena, place->name, strlen(place->name));
	model->places[i].tensor = arena_copy(model->arena, place->tensor, place->tensor_length);
	if (!model->places[i].name || !model->places[i].tensor)
		return -ENOMEM;
	/* No thread knows the slot's number before its name is entered, and slots are added only
	 * here. */
	rc = slots_add(slots, content_ref(content), &i);
	return rc < 0 ? rc : enter(model, i);
}

int model_add_slot(struct model *model, enum organ_class klass, const char *name,
		   const char *tensor, uint32_t tensor_length, struct content *content)
{
	const struct organ_place place = { .name = name,
					   .klass = klass,
					   .block = anatomy_block(tensor, tensor_length),
					   .tensor = tensor,
					   .tensor_length = tensor_length };
	int rc;

	pthread_mutex_lock(&model->names_lock);
	rc = add_slot(model, &place, content);
	pthread_mutex_unlock(&model->names_lock);
	content_unref(content);
	return rc;
}

void model_leave_alone(struct model *model, const char *directory, const char *file,
		       const char *why)
{
	model->left_alone++;
	log_add(model->log, "%s: %s/%s is left alone: %s", layer_path(model->layer), directory,
		file, why);
}

uint64_t model_generation(struct model *model)
{
	return model->generation_before + slots_generation(model->slots) +
	       metadata_generation(model->metadata);
}

int model_snapshot(struct model *model, struct snapshot *snapshot)
{
	/* Read the generation first: a change from here on may be in the snapshot, and has a later
	 * generation. */
	const uint64_t generation = slots_generation(model->slots);
	struct metadata_edits *edits = metadata_edits_get(model->metadata);
	struct adapter_list *adapters = adapters_list(model);

	if (!edits || !adapters || slots_snapshot(model->slots, snapshot) < 0) {
		metadata_edits_unref(edits);
		adapter_list_free(adapters);
		return -ENOMEM;
	}
	snapshot->edits = edits;
	snapshot->adapters = adapters;
	snapshot->merge = merge_force_get(model);
	snapshot->grafts += adapters->n;
	/* A merge may change the template alone. */
	snapshot->grafts += merge_state_template(snapshot->merge) != NULL;
	snapshot->generation = model->generation_before + generation + edits->generation;
	snapshot->grafts += edits->n;
	return 0;
}

struct organ model_organ(const struct model *model, uint32_t tensor, const struct content *content)
{
	return content ? content->organ : organ_of_tensor(&model->gguf->tensors[tensor]);
}

struct organ model_organ_in_place(const struct model *model, uint32_t tensor,
				  const struct content *content)
{
	struct organ organ = model_organ(model, tensor, content);

	organ.name = model->places[tensor].tensor;
	organ.name_length = model->places[tensor].tensor_length;
	return organ;
}

const char *model_organ_path(const struct model *model, uint32_t tensor, char path[ORGAN_PATH_MAX])
{
	const struct organ_place *place = &model->places[tensor];

	snprintf(path, ORGAN_PATH_MAX, "%s/%s.bin", class_name(place->klass), place->name);
	return path;
}
