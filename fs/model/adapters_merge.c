/* SPDX-License-Identifier: MIT */
/* adapters_merge.c - see adapters.h: the contents that slots show with adapters, and in the types
 * that the user chose. */
#include "fs/base/donor.h"
#include "fs/merge/merge_settings.h"
#include "fs/model/adapters_internal.h"
#include "fs/model/inode.h"
#include "fs/model/merge_force.h"
#include "fs/storage/backing.h"
#include "fs/tensor/importance_matrix.h"
#include "fs/tensor/lora_merge.h"
#include "fs/util/log.h"
#include "fs/util/time_order.h"
#include "gguf/control_vector.h"
#include "gguf/error.h"
#include "gguf/quant.h"
#include "gguf/reader.h"
#include "measure/lora.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Content that a slot will show, being computed. */
struct adapter_plan {
	struct model *model;
	/* A half that is about to be put into its slot, invisible to readers yet; NULL: none. */
	const struct slot_content *about;
	uint32_t slot;
	struct content *own;
	struct organ organ;  /* to be shown */
	struct organ target; /* the own content's, under the slot's name */
	struct timespec mtime;
	struct lora_merge merge;
	struct error err; /* reason why the merge fails */
};

static void note_time(struct adapter_plan *planning, const struct timespec *mtime)
{
	if (is_earlier(&planning->mtime, mtime))
		planning->mtime = *mtime;
}

const struct adapter_scale *adapter_entry_scale(const struct adapter_entry *entry)
{
	static const struct adapter_scale one = { .n = 1, .numbers = { 1.0 } };
	const struct adapter_setting *scale = &entry->settings[ADAPTER_SCALE];

	return scale->set ? &scale->value : &one;
}

int32_t adapters_block(const char *tensor, size_t length)
{
	return length > 4 && memcmp(tensor, "blk.", 4) == 0 ? anatomy_block(tensor, length) : -1;
}

float adapter_entry_scale_at(const struct model *model, const struct adapter_entry *entry,
			     const char *tensor, size_t length)
{
	const struct adapter_scale *scale = adapter_entry_scale(entry);
	const int32_t block = adapters_block(tensor, length);

	return (float)merge_gradient(scale->numbers, scale->n, block < 0 ? 0 : (uint64_t)block,
				     block < 0 ? 0 : model->adapters->blocks);
}

/* The adapter's number for the slot that is planned. */
static float scale_here(const struct adapter_plan *planning, const struct adapter_entry *entry)
{
	const struct organ_place *place = &planning->model->places[planning->slot];

	return adapter_entry_scale_at(planning->model, entry, place->tensor, place->tensor_length);
}

static bool find_slot(struct model *model, const char *name, size_t length, uint32_t *slot)
{
	const struct gguf_tensor *tensor = gguf_tensor(model->gguf, name, length);
	char file[ANATOMY_NAME_MAX + 1];

	if (tensor) {
		*slot = (uint32_t)(tensor - model->gguf->tensors);
		return true;
	}
	anatomy_file_name(name, length, NAME_SHORT, file);
	return model_find_slot(model, anatomy_class(name, length), file, strlen(file), slot) &&
	       model->places[*slot].tensor_length == length &&
	       memcmp(model->places[*slot].tensor, name, length) == 0;
}

/* NAME.lora_a or NAME.lora_b, to free. NULL: out of memory. */
static char *half_name(const char *tensor, size_t length, enum pair_half half)
{
	char *name = malloc(length + sizeof(".lora_a"));

	if (!name)
		return NULL;
	memcpy(name, tensor, length);
	strcpy(name + length, half == PAIR_A ? ".lora_a" : ".lora_b");
	return name;
}

static bool find_half(struct model *model, const char *tensor, size_t length, enum pair_half half,
		      uint32_t *slot)
{
	char *name = half_name(tensor, length, half);
	const bool found = name && find_slot(model, name, length + strlen(".lora_a"), slot) &&
			   adapters_is_half(model, *slot);

	free(name);
	return found;
}

struct content *adapters_half(struct model *model, const char *tensor, size_t length,
			      enum pair_half half)
{
	uint32_t slot;
	struct content *content = find_half(model, tensor, length, half, &slot)
					  ? slots_get_own(model->slots, slot)
					  : NULL;

	if (!content_is_whiteout(content))
		return content;
	content_unref(content);
	return NULL;
}

bool adapters_target(struct model *model, const char *half, size_t length, uint32_t *slot)
{
	size_t target;

	return pair_half(half, length, &target) != PAIR_NONE &&
	       find_slot(model, half, target, slot) && model->places[*slot].klass != CLASS_ADAPTERS;
}

static void add_pair(struct adapter_plan *planning, const struct adapter_entry *entry, float alpha,
		     const struct organ *a, const struct organ *b, struct lora_merge_pair *pair)
{
	struct lora_merge *merge = &planning->merge;

	if (planning->err.code || pair_fits(&planning->target, a, b, &planning->err) < 0)
		return;
	pair->flipped = pair_is_flipped(planning->target.name, planning->target.name_length);
	pair->rank = pair_rank(a, pair->flipped);
	pair->factor = lora_factor(scale_here(planning, entry), alpha, (size_t)pair->rank);
	if (adapter_entry_scale(entry)->keeps_norm) {
		error_set(&planning->err, EINVAL, ERROR_NO_OFFSET,
			  "the scale of the adapter %.100s has norm=keep, which is for control "
			  "vectors",
			  entry->name);
		return;
	}
	if (!isfinite(pair->factor)) {
		error_set(&planning->err, EINVAL, ERROR_NO_OFFSET,
			  "the scale and alpha of the adapter %s come to no finite number",
			  entry->name);
		return;
	}
	note_time(planning, &entry->settings[ADAPTER_SCALE].mtime);
	merge->pairs[merge->n++] = *pair;
}

/* Add the pair in an adapter's file, if it has one for the tensor. */
static void add_linked(struct adapter_plan *planning, const struct adapter_entry *entry)
{
	const struct organ *organ = &planning->target;
	const size_t length = organ->name_length + strlen(".lora_a");
	const struct gguf_tensor *halves[2] = { NULL, NULL };
	struct lora_merge_pair pair = { .factor = 0 };
	struct organ organs[2];

	for (enum pair_half half = PAIR_A; half <= PAIR_B; half++) {
		char *name = half_name(organ->name, organ->name_length, half);

		if (name)
			halves[half] = gguf_tensor(entry->gguf, name, length);
		free(name);
		if (!halves[half])
			return;
		organs[half] = organ_of_tensor(halves[half]);
	}
	pair.a = (struct lora_merge_data){ entry->link->file, halves[PAIR_A]->offset,
					   organs[0].type };
	pair.b = (struct lora_merge_data){ entry->link->file, halves[PAIR_B]->offset,
					   organs[1].type };
	note_time(planning, &entry->link->mtime);
	add_pair(planning, entry, entry->alpha, &organs[0], &organs[1], &pair);
}

/* Add the direction that a control vector removes from the tensor. */
static void add_direction(struct adapter_plan *planning, const struct adapter_entry *entry)
{
	const struct organ *organ = &planning->target;
	struct lora_merge *merge = &planning->merge;
	struct lora_merge_pair pair = { .factor = -scale_here(planning, entry),
					.keeps_norm = adapter_entry_scale(entry)->keeps_norm };
	const struct gguf_tensor *direction =
		control_vector_direction(entry->gguf, organ->name, organ->name_length,
					 &pair.flipped);

	if (!direction || planning->err.code ||
	    control_vector_fits(direction, organ, pair.flipped, &planning->err) < 0)
		return;
	pair.rank = direction->ne[1];
	pair.b = (struct lora_merge_data){ entry->link->file, direction->offset, direction->type };
	note_time(planning, &entry->link->mtime);
	note_time(planning, &entry->settings[ADAPTER_SCALE].mtime);
	merge->pairs[merge->n++] = pair;
}

/* Content of a copied half, held or about to be. NULL: none, or it is unusable: broken, or a link
 * to a file that is itself computed at each read. */
static struct content *half_content(const struct adapter_plan *planning, enum pair_half half)
{
	const struct organ *organ = &planning->target;
	const struct slot_content *about = planning->about;
	struct content *content = NULL;
	uint32_t slot;

	if (!find_half(planning->model, organ->name, organ->name_length, half, &slot))
		return NULL;
	if (!about || about->slot != slot)
		content = slots_get_own(planning->model->slots, slot);
	else if (about->content)
		content = content_ref(about->content);
	if (content && !content_is_whiteout(content) && !content->broken &&
	    !backing_is_computed(content->file))
		return content;
	content_unref(content);
	return NULL;
}

static void add_copied(struct adapter_plan *planning, struct adapter_entry *entry)
{
	struct content *a = half_content(planning, PAIR_A), *b = half_content(planning, PAIR_B);
	const struct adapter_setting *alpha = &entry->settings[ADAPTER_ALPHA];
	struct lora_merge_pair pair = { .factor = 0 };

	if (a && b) {
		pair.a = (struct lora_merge_data){ a->file, a->offset, a->organ.type };
		pair.b = (struct lora_merge_data){ b->file, b->offset, b->organ.type };
		note_time(planning, &a->mtime);
		note_time(planning, &b->mtime);
		note_time(planning, &alpha->mtime);
		add_pair(planning, entry, alpha->set ? (float)alpha->value.numbers[0] : 0.0f,
			 &a->organ, &b->organ, &pair);
		if (!alpha->set && !planning->model->adapters->alpha_reported)
			log_add(planning->model->log,
				"adapters: copied pairs: no alpha is known; merged with the scale "
				"alone. Write it to adapters/" ADAPTERS_COPIED ".alpha");
		planning->model->adapters->alpha_reported |= !alpha->set;
	}
	content_unref(a);
	content_unref(b);
}

static void set_donor(const struct adapter_plan *planning, struct content *content)
{
	const struct organ *organ = &planning->target;

	content_set_donor(content, planning->own
					   ? donor_ref(planning->own->donor)
					   : donor_from_backing(planning->model->base, organ->name,
								organ->name_length));
}

/* Type that the slot shows: the user's choice for the slot; with -o type=keep the base's for a
 * graft; else for results of adapters the type of -o merged=. */
static uint32_t type_of(const struct adapter_plan *planning, const struct slot_type *chosen)
{
	const struct model *model = planning->model;
	const struct lora_merge *merge = &planning->merge;
	const uint32_t slot = planning->slot;

	if (!decode_gives_weights(merge->w.type))
		return merge->w.type;
	if (chosen->is_set && encode_fits(chosen->type, merge->ne[0]) &&
	    importance_matrix_allows(model->adapters->importance, &planning->target, chosen->type))
		return chosen->type;
	if (model->keep_types && content_is_graft(planning->own) && slot < model->gguf->n_tensors &&
	    encode_supported(model->gguf->tensors[slot].type, merge->ne[0]))
		return model->gguf->tensors[slot].type;
	return merge->n ? encode_type(merge->w.type, merge->ne[0], model->merged) : merge->w.type;
}

/* Set the encoder's weights, if the matrix in force has any for the tensor. The commit lock keeps
 * the matrix alive: the merge takes no reference. */
static void set_importance(struct adapter_plan *planning)
{
	planning->merge.importance = importance_matrix_for(planning->model->adapters->importance,
							   &planning->target, planning->merge.type);
	planning->merge.name = planning->target.name;
	planning->merge.name_length = planning->target.name_length;
}

/* Make the planned content; it is broken if the merge is impossible. NULL: out of memory. */
static struct content *make_content(struct adapter_plan *planning)
{
	struct model *model = planning->model;
	struct lora_merge *merge = &planning->merge;
	const struct lora_merge *kept = NULL;
	struct content *content = NULL;
	struct backing *file;

	if (!planning->err.code &&
	    type_size(merge->type, merge->ne, &planning->organ.data_size) != TYPE_SIZE_OK)
		error_set(&planning->err, EINVAL, ERROR_NO_OFFSET, "it would be too large");
	if (planning->err.code) {
		file = backing_new_missing(backing_path(merge->w.file), planning->organ.data_size);
	} else {
		planning->organ.type = merge->type;
		file = lora_merge_new(merge, model->adapters->matrix_cache, &kept);
	}
	if (file)
		content = content_new_merged(inode_new(model), &planning->organ, file, kept,
					     planning->own);
	if (!content)
		return NULL;
	content->mtime = planning->mtime;
	set_donor(planning, content);
	if (planning->err.code)
		content_set_broken(content, planning->err.text);
	return content;
}

/* Set the plan to the slot's own content. False: nothing can be merged into it. */
static bool begin(struct adapter_plan *planning)
{
	struct model *model = planning->model;
	const struct content *own = planning->own;
	const struct gguf *gguf = model->gguf;

	if (model->places[planning->slot].klass == CLASS_ADAPTERS ||
	    (own && (own->kind == CONTENT_WHITEOUT || own->broken)) ||
	    (!own && planning->slot >= gguf->n_tensors))
		return false;
	planning->organ = model_organ(model, planning->slot, own);
	planning->target = model_organ_in_place(model, planning->slot, own);
	planning->mtime = own ? own->mtime : backing_stat(model->base)->st_mtim;
	planning->merge.w = (struct lora_merge_data){
		.file = own ? own->file : model->base,
		.offset = own ? own->offset : gguf->tensors[planning->slot].offset,
		.type = planning->organ.type,
	};
	memcpy(planning->merge.ne, planning->organ.ne, sizeof(planning->merge.ne));
	return true;
}

/* Content that a slot holding own will show, to release. NULL: own itself, or with *same the
 * content that it shows now. */
static struct content *plan(struct model *model, uint32_t slot, struct content *own,
			    const struct slot_content *about, bool *same)
{
	struct adapters *adapters = model->adapters;
	struct adapter_plan planning = { .model = model, .about = about, .slot = slot, .own = own };
	const struct slot_type chosen = slots_type(model->slots, slot);
	struct content *now, *next = NULL;

	*same = false;
	if (!begin(&planning))
		return NULL;
	for (uint32_t i = 0; adapters->apply && i < adapters->n; i++) {
		struct adapter_entry *entry = adapters->order[i];

		if (scale_here(&planning, entry) == 0.0f)
			continue;
		if (entry->gguf) {
			add_linked(&planning, entry);
			add_direction(&planning, entry);
		}
		if (entry->number == 0)
			add_copied(&planning, entry);
	}
	planning.merge.type = type_of(&planning, &chosen);
	set_importance(&planning);
	if (planning.merge.n == 0 && !planning.err.code &&
	    planning.merge.type == planning.merge.w.type)
		return NULL;
	if (chosen.is_set)
		note_time(&planning, &chosen.mtime);
	now = slots_get(model->slots, slot);
	*same = now && now->kind == CONTENT_MERGED && now->merge && now->own == own &&
		!planning.err.code && lora_merge_same(now->merge, &planning.merge);
	if (!*same)
		next = make_content(&planning);
	if (!*same && !next)
		log_add(model->log,
			"adapters: %.*s: not merged: out of memory; its own content is shown",
			(int)planning.target.name_length, planning.target.name);
	else if (next && next->broken)
		log_add(model->log, "adapters: %.*s: cannot merge: %s",
			(int)planning.target.name_length, planning.target.name, next->broken);
	content_unref(now);
	return next;
}

bool adapters_slot_changed(void *context, uint32_t slot, struct content *content,
			   struct slot_content *showing)
{
	struct model *model = context;
	const struct slot_content about = { slot, content };
	struct content *own;
	bool same;

	if (!adapters_is_half(model, slot)) {
		*showing = (struct slot_content){ slot, plan(model, slot, content, NULL, &same) };
		if (same)
			showing->content = slots_get(model->slots, slot);
		return showing->content;
	}
	if (!adapters_target(model, model->places[slot].tensor, model->places[slot].tensor_length,
			     &showing->slot))
		return false;
	own = slots_get_own(model->slots, showing->slot);
	showing->content = plan(model, showing->slot, own, &about, &same);
	content_unref(own);
	return !same;
}

void adapters_refresh(struct model *model)
{
	const uint32_t n = slots_count(model->slots);
	struct slot_content *showings = calloc(n + 1u, sizeof(*showings));
	size_t changed = 0;

	if (merge_force_weigh(model) < 0)
		log_add(model->log,
			".merge: out of memory: some tensors keep the encoding with the "
			"previous importance matrix");
	if (!showings) {
		log_add(model->log,
			"adapters: out of memory: the change takes effect with the next "
			"change of an adapter");
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		struct content *own = slots_get_own(model->slots, i);
		struct content *now = slots_get(model->slots, i);
		bool same;
		struct content *next = plan(model, i, own, NULL, &same);

		if (!same && (next || now != own))
			showings[changed++] = (struct slot_content){ i, next };
		content_unref(now);
		content_unref(own);
	}
	slots_set_shown(model->slots, showings, changed);
	free(showings);
}

void adapters_count(struct model *model, uint32_t *pairs, uint32_t *halves, uint64_t *bytes)
{
	uint32_t slot;

	*pairs = *halves = 0;
	*bytes = 0;
	for (uint32_t k = 0; model_class_slot(model, CLASS_ADAPTERS, k, &slot); k++) {
		const struct organ_place *place = &model->places[slot];
		struct content *content = slots_get_own(model->slots, slot), *other = NULL;
		size_t length;
		const enum pair_half half = pair_half(place->tensor, place->tensor_length, &length);

		if (adapters_is_half(model, slot) && half != PAIR_NONE &&
		    !content_is_whiteout(content)) {
			*bytes += content->organ.data_size;
			other = adapters_half(model, place->tensor, length,
					      half == PAIR_A ? PAIR_B : PAIR_A);
			*halves += !other;
			*pairs += other && half == PAIR_A;
		}
		content_unref(other);
		content_unref(content);
	}
}
