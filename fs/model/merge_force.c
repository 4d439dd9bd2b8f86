/* SPDX-License-Identifier: MIT */
/* merge_force.c - see merge_force.h. */
#include "fs/model/merge_force.h"
#include "fs/merge/merge_config.h"
#include "fs/merge/merge_note.h"
#include "fs/merge/merge_plan.h"
#include "fs/model/adapters.h"
#include "fs/model/inode.h"
#include "fs/storage/backing.h"
#include "fs/tensor/importance_matrix.h"
#include "gguf/error.h"
#include "gguf/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct merge_ready {
	struct merge_state *state; /* NULL: no merge */
	struct slot_content *puts;
	size_t n;
};

struct merge_preparation {
	struct model *model;
	struct merge_ready *ready;
	struct slot_content *of_slots; /* by slot, room entries; content NULL: none beneath */
	size_t room;
	struct error *err;
};

struct merge_state *merge_force_get(struct model *model)
{
	struct merge_state *state;

	pthread_mutex_lock(&model->names_lock);
	state = model->merge;
	if (state)
		atomic_fetch_add(&state->refs, 1);
	pthread_mutex_unlock(&model->names_lock);
	return state;
}

void merge_state_unref(struct merge_state *state)
{
	if (!state || atomic_fetch_sub(&state->refs, 1) != 1)
		return;
	for (size_t i = 0; i < state->n_models; i++) {
		free(state->models[i].written);
		free(state->models[i].path);
		base_close(&state->bases[i]);
	}
	free(state->bases);
	free(state->models);
	free(state->note);
	free(state->text);
	free(state->tokenizer);
	free(state->chat_template);
	free(state->broken);
	free(state);
}

const char *merge_state_template(const struct merge_state *state)
{
	return state ? state->chat_template : NULL;
}

bool merge_force_broken(struct model *model)
{
	bool broken;

	pthread_mutex_lock(&model->names_lock);
	broken = model->merge && model->merge->broken;
	pthread_mutex_unlock(&model->names_lock);
	return broken;
}

const char *merge_ready_note(const struct merge_ready *ready)
{
	return ready->state ? ready->state->note : NULL;
}

void merge_ready_free(struct merge_ready *ready)
{
	if (!ready)
		return;
	for (size_t k = 0; k < ready->n; k++)
		content_unref(ready->puts[k].content);
	free(ready->puts);
	merge_state_unref(ready->state);
	free(ready);
}

static bool is_others(const struct model *model, uint32_t slot, const char *tensor, size_t length)
{
	return model->places[slot].tensor_length != length ||
	       memcmp(model->places[slot].tensor, tensor, length) != 0;
}

/* Find the slot of a tensor that the base lacks; add it if needed. */
static int find_slot(struct merge_preparation *preparing, const char *tensor, uint32_t length,
		     uint32_t *slot)
{
	struct model *model = preparing->model;
	const enum organ_class klass = anatomy_class(tensor, length);
	char name[ANATOMY_NAME_MAX + 1];
	struct content *nothing;
	bool found;
	int rc = 0;

	anatomy_file_name(tensor, length, NAME_SHORT, name);
	found = model_find_slot(model, klass, name, strlen(name), slot);
	if (found && is_others(model, *slot, tensor, length)) {
		anatomy_file_name(tensor, length, NAME_EXACT, name);
		found = model_find_slot(model, klass, name, strlen(name), slot);
	}
	if (found && is_others(model, *slot, tensor, length))
		return error_set(preparing->err, EINVAL, ERROR_NO_OFFSET,
				 "\"%.100s\" is already the file name of another tensor", name);
	if (found)
		return 0;
	nothing = content_new_blend_whiteout();
	rc = nothing ? model_add_slot(model, klass, name, tensor, length, nothing) : -ENOMEM;
	if (rc == 0)
		model_find_slot(model, klass, name, strlen(name), slot);
	if (rc == -ENOSPC)
		return error_set(preparing->err, ENOSPC, ERROR_NO_OFFSET,
				 "the result would have more tensors than a model can hold");
	return rc < 0 ? error_errno(preparing->err, ENOMEM) : 0;
}

/* Set the content beneath a slot in the preparation; uses up content. content NULL: out of
 * memory. */
static int set(struct merge_preparation *preparing, uint32_t slot, struct content *content)
{
	struct slot_content *more = preparing->of_slots;
	size_t room = preparing->room;

	if (content && slot >= room) {
		room = 2 * (size_t)slot + 64;
		more = reallocarray(more, room, sizeof(*more));
		if (more) {
			memset(more + preparing->room, 0, (room - preparing->room) * sizeof(*more));
			preparing->of_slots = more;
			preparing->room = room;
		}
	}
	if (!content || !more) {
		content_unref(content);
		return error_errno(preparing->err, ENOMEM);
	}
	content_unref(more[slot].content);
	more[slot].content = content;
	return 0;
}

/* Collect the contents of all slots that this merge or the one before affects. */
static int collect(struct merge_preparation *preparing)
{
	struct model *model = preparing->model;
	struct merge_ready *ready = preparing->ready;
	const uint32_t n = slots_count(model->slots);

	ready->puts = calloc(n + 1u, sizeof(*ready->puts));
	if (!ready->puts)
		return error_errno(preparing->err, ENOMEM);
	for (uint32_t i = 0; i < n; i++) {
		struct content *content =
			i < preparing->room ? preparing->of_slots[i].content : NULL;

		if (!content && !slots_has_beneath(model->slots, i) && i >= model->gguf->n_tensors)
			continue;
		if (!content && i >= model->gguf->n_tensors &&
		    !(content = content_new_blend_whiteout()))
			return error_errno(preparing->err, ENOMEM);
		if (i < preparing->room)
			preparing->of_slots[i].content = NULL;
		ready->puts[ready->n++] = (struct slot_content){ i, content };
	}
	return 0;
}

static struct merge_ready *begin(struct merge_preparation *preparing, struct model *model,
				 struct error *err)
{
	*preparing = (struct merge_preparation){ .model = model, .err = err };
	preparing->ready = calloc(1, sizeof(*preparing->ready));
	if (!preparing->ready)
		error_errno(err, ENOMEM);
	return preparing->ready;
}

/* Finish the preparation, whose result so far is rc. */
static struct merge_ready *end(struct merge_preparation *preparing, int rc)
{
	if (rc == 0)
		rc = collect(preparing);
	for (size_t i = 0; i < preparing->room; i++)
		content_unref(preparing->of_slots[i].content);
	free(preparing->of_slots);
	if (rc == 0)
		return preparing->ready;
	merge_ready_free(preparing->ready);
	return NULL;
}

struct merge_ready *merge_ready_new_none(struct model *model, struct error *err)
{
	struct merge_preparation preparing;

	return begin(&preparing, model, err) ? end(&preparing, 0) : NULL;
}

/* New state with the request's text and room for n models. */
static struct merge_state *state_new(const struct merge_request_state *request, size_t n)
{
	struct merge_state *state = calloc(1, sizeof(*state));

	if (!state)
		return NULL;
	atomic_init(&state->refs, 1);
	state->size = request->size;
	state->mtime = request->mtime;
	state->uid = request->uid;
	state->gid = request->gid;
	state->models = calloc(n + 1, sizeof(*state->models));
	state->text = malloc(request->size + 1);
	state->bases = calloc(n + 1, sizeof(*state->bases));
	if (!state->models || !state->bases || !state->text) {
		merge_state_unref(state);
		return NULL;
	}
	memcpy(state->text, request->text, request->size);
	state->text[request->size] = '\0';
	return state;
}

static bool add_model(struct merge_state *state, const char *written, const char *path,
		      const char *fingerprint)
{
	struct merge_note_model *model = &state->models[state->n_models++];

	model->written = strdup(written);
	model->path = strdup(path);
	memcpy(model->fingerprint, fingerprint, sizeof(model->fingerprint));
	return model->written && model->path;
}

/* Whether the base has a tensor of that name and of another type. */
static bool is_converted(const struct model *model, const struct organ *organ)
{
	const struct gguf_tensor *tensor =
		gguf_tensor(model->gguf, organ->name, organ->name_length);

	return tensor && tensor->type != organ->type;
}

static void count(const struct model *model, struct merge_state *state,
		  const struct merge_note_tensor *noted, enum merge_made made)
{
	state->gone += noted->gone;
	state->passed += made == MERGE_AS_MODEL;
	state->made += made == MERGE_OF_ROWS;
	state->converted += made == MERGE_OF_ROWS && is_converted(model, &noted->organ);
	if (!noted->gone)
		state->bytes += noted->organ.data_size;
}

/* New content computed from rows, encoded with the weights that importance, which may be NULL, has
 * for the organ. */
static struct content *make_rows(struct model *model, const struct merge_tensor *of,
				 const struct organ *organ, struct importance_matrix *importance)
{
	struct merge_tensor tensor = *of;
	const struct merge_tensor *kept;
	struct content *content = NULL;
	struct backing *file;

	tensor.importance = importance_matrix_for(importance, organ, tensor.type);
	tensor.name = organ->name;
	tensor.name_length = organ->name_length;
	file = merge_tensor_new(&tensor, &kept);
	if (file)
		content = content_new_blend(inode_new(model), organ, file, 0);
	if (content)
		content->tensor = kept;
	backing_unref(file);
	return content;
}

static struct content *make_content(struct merge_preparation *preparing,
				    const struct merge_plan_tensor *tensor,
				    const struct organ *organ)
{
	const struct merge_data *input = &tensor->tensor.inputs[0];
	struct model *model = preparing->model;
	struct importance_matrix *importance;
	struct content *content;

	if (tensor->made == MERGE_AS_MODEL)
		return content_new_blend(inode_new(model), organ, input->file, input->offset);
	importance = adapters_importance(model);
	content = make_rows(model, &tensor->tensor, organ, importance);
	importance_matrix_unref(importance);
	return content;
}

/* Add the plan's result for a tensor to the preparation and to the note. */
static int add_planned(struct merge_preparation *preparing, const struct merge_plan_tensor *tensor,
		       struct merge_note *note)
{
	struct model *model = preparing->model;
	struct merge_note_tensor *noted = &note->tensors[note->n];
	uint32_t slot = tensor->of;
	struct content *content;
	int rc;

	if (tensor->made == MERGE_AS_HOST)
		return 0;
	*noted = (struct merge_note_tensor){ .gone = tensor->made == MERGE_GONE };
	noted->organ.name = tensor->name;
	noted->organ.name_length = tensor->length;
	if (!noted->gone && !merge_plan_organ(model->gguf, tensor, &noted->organ))
		return error_set(preparing->err, EINVAL, ERROR_NO_OFFSET, "%s would be too large",
				 tensor->name);
	rc = slot == MERGE_PLAN_NEW ? find_slot(preparing, tensor->name, tensor->length, &slot) : 0;
	if (rc < 0)
		return rc;
	content = noted->gone ? content_new_blend_whiteout()
			      : make_content(preparing, tensor, &noted->organ);
	if (content)
		content->mtime = preparing->ready->state->mtime;
	if (content && !noted->gone && tensor->block >= 0)
		content->block = tensor->block;
	count(model, preparing->ready->state, noted, tensor->made);
	note->n++;
	return set(preparing, slot, content);
}

static int add_plan(struct merge_preparation *preparing, const struct merge_plan *plan)
{
	struct merge_state *state = preparing->ready->state;
	struct merge_note note = { .text = state->text,
				   .size = state->size,
				   .chat_template = state->chat_template };
	int rc = 0;

	note.tensors = calloc(plan->n + 1, sizeof(*note.tensors));
	if (!note.tensors)
		return error_errno(preparing->err, ENOMEM);
	for (size_t i = 0; rc == 0 && i < plan->n; i++)
		rc = add_planned(preparing, &plan->tensors[i], &note);
	note.n_models = state->n_models;
	note.models = state->models;
	if (rc == 0 && !(state->note = merge_note_print(&note)))
		rc = error_errno(preparing->err, ENOMEM);
	free(note.tensors);
	return rc;
}

static struct merge_state *state_of_plan(const struct merge_plan *plan, enum merge_method method,
					 const struct merge_request_state *request)
{
	struct merge_state *state = state_new(request, plan->n_files);
	bool well = state;

	/* The base's path is not kept: the base may have moved when the next mount takes the layer
	 * up. */
	for (size_t i = 0; well && i < plan->n_files; i++)
		well = add_model(state, plan->files[i]->written,
				 plan->files[i]->is_host ? "" : plan->files[i]->path,
				 plan->files[i]->fingerprint);
	if (well && plan->other_tokenizer) {
		state->tokenizer = strdup(plan->other_tokenizer);
		well = state->tokenizer;
	}
	if (well && plan->chat_template) {
		state->chat_template = strdup(plan->chat_template);
		well = state->chat_template;
	}
	if (well) {
		state->method = merge_method_names[method];
		return state;
	}
	merge_state_unref(state);
	return NULL;
}

/* Move the open models from the plan into the state. */
static void take_models(struct merge_state *state, struct merge_plan *plan)
{
	for (size_t i = 0; i < plan->n_files; i++) {
		if (plan->files[i]->is_host)
			continue;
		state->bases[i] = plan->files[i]->base;
		plan->files[i]->base = (struct base){ .file = NULL };
	}
}

struct merge_ready *merge_ready_new(struct model *model, struct merge_plan *plan,
				    enum merge_method method,
				    const struct merge_request_state *request, struct error *err)
{
	struct merge_preparation preparing;
	struct merge_ready *ready = begin(&preparing, model, err);
	int rc;

	if (!ready)
		return NULL;
	ready->state = state_of_plan(plan, method, request);
	rc = ready->state ? add_plan(&preparing, plan) : error_errno(err, ENOMEM);
	ready = end(&preparing, rc);
	if (ready)
		take_models(ready->state, plan);
	return ready;
}

/* New broken content of that organ. NULL: out of memory. */
static struct content *make_broken(struct merge_preparation *preparing, const struct organ *organ,
				   const char *why)
{
	struct model *model = preparing->model;
	struct backing *gone = backing_new_missing(backing_path(model->base), organ->data_size);
	struct content *content = gone ? content_new_blend(inode_new(model), organ, gone, 0) : NULL;

	backing_unref(gone);
	if (!content)
		return NULL;
	content_set_broken(content, why);
	if (content->broken)
		return content;
	content_unref(content);
	return NULL;
}

static int add_noted(struct merge_preparation *preparing, const struct merge_note_tensor *noted,
		     const char *why)
{
	struct model *model = preparing->model;
	const struct organ *organ = &noted->organ;
	const struct gguf_tensor *tensor =
		gguf_tensor(model->gguf, organ->name, organ->name_length);
	uint32_t slot = tensor ? (uint32_t)(tensor - model->gguf->tensors) : 0;
	struct content *content;
	int rc = tensor ? 0 : find_slot(preparing, organ->name, organ->name_length, &slot);

	if (rc < 0)
		return rc;
	content = noted->gone ? content_new_blend_whiteout() : make_broken(preparing, organ, why);
	if (content)
		content->mtime = preparing->ready->state->mtime;
	count(model, preparing->ready->state, noted, noted->gone ? MERGE_GONE : MERGE_OF_ROWS);
	return set(preparing, slot, content);
}

static int add_note(struct merge_preparation *preparing, struct merge_note *note, const char *why)
{
	struct merge_state *state = preparing->ready->state;
	int rc = 0;

	if (note->chat_template && !(state->chat_template = strdup(note->chat_template)))
		rc = error_errno(preparing->err, ENOMEM);
	for (size_t i = 0; rc == 0 && i < note->n_models; i++)
		if (!add_model(state, note->models[i].written, note->models[i].path,
			       note->models[i].fingerprint))
			rc = error_errno(preparing->err, ENOMEM);
	for (size_t i = 0; rc == 0 && i < note->n; i++)
		rc = add_noted(preparing, &note->tensors[i], why);
	return rc;
}

/* Name of the note's method; "" if the configuration cannot be read. */
static const char *method_of(const struct merge_note *note)
{
	struct merge_config config;
	const bool well = merge_config_read(note->text, note->size, &config, NULL) == 0;
	const char *name = well ? merge_method_names[config.method] : "";

	merge_config_release(&config);
	return name;
}

struct merge_ready *merge_ready_new_broken(struct model *model, char *text, const char *why,
					   const struct merge_request_state *request,
					   struct error *err)
{
	struct merge_preparation preparing;
	struct merge_note note;
	struct merge_request_state as_noted = *request;
	char *copy = strdup(text);
	int rc = merge_note_read(text, &note, err);

	if (rc < 0 || !copy || !begin(&preparing, model, err)) {
		if (rc == 0)
			error_errno(err, ENOMEM);
		merge_note_release(&note);
		free(copy);
		return NULL;
	}
	as_noted.text = note.text;
	as_noted.size = note.size;
	preparing.ready->state = state_new(&as_noted, note.n_models);
	if (preparing.ready->state) {
		preparing.ready->state->method = method_of(&note);
		preparing.ready->state->note = copy;
		preparing.ready->state->broken = strdup(why);
	} else {
		free(copy);
	}
	rc = preparing.ready->state && preparing.ready->state->broken
		     ? add_note(&preparing, &note, why)
		     : error_errno(err, ENOMEM);
	merge_note_release(&note);
	return end(&preparing, rc);
}

void merge_force_publish(struct model *model, struct merge_ready *ready)
{
	struct merge_state *before;

	/* Replace the state before the generation increments: a thread that caches a result of the
	 * new state under the old generation then computes it again. */
	pthread_mutex_lock(&model->names_lock);
	before = model->merge;
	model->merge = ready->state;
	pthread_mutex_unlock(&model->names_lock);
	slots_set_beneath(model->slots, ready->puts, ready->n);
	/* The slots own the new contents and have released the old ones. */
	ready->n = 0;
	ready->state = before;
	merge_ready_free(ready);
}

/* Would the tensor be encoded with other weights now? */
static bool is_outweighed(const struct content *content, struct importance_matrix *importance)
{
	return content && content->kind == CONTENT_BLEND && content->tensor &&
	       content->tensor->importance !=
		       importance_matrix_for(importance, &content->organ, content->organ.type);
}

int merge_force_weigh(struct model *model)
{
	struct importance_matrix *importance = adapters_importance(model);
	const uint32_t n = slots_count(model->slots);
	struct slot_content *puts = calloc(n + 1u, sizeof(*puts));
	size_t changed = 0;
	int rc = puts ? 0 : -ENOMEM;

	for (uint32_t i = 0; puts && i < n; i++) {
		struct content *was = slots_get_beneath(model->slots, i), *content = NULL;
		const bool is_due = is_outweighed(was, importance);

		if (is_due)
			content = make_rows(model, was->tensor, &was->organ, importance);
		if (content) {
			content->mtime = was->mtime;
			content->block = was->block;
			puts[changed++] = (struct slot_content){ i, content };
		} else if (is_due) {
			rc = -ENOMEM;
		}
		content_unref(was);
	}
	if (changed)
		slots_set_beneath(model->slots, puts, changed);
	free(puts);
	importance_matrix_unref(importance);
	return rc;
}
