/* SPDX-License-Identifier: MIT */
/* type_edit.c - see type_edit.h. */
#include "fs/edit/type_edit.h"
#include "fs/edit/journal.h"
#include "fs/edit/type_lines.h"
#include "fs/edit/undo.h"
#include "fs/layer/layer.h"
#include "fs/layer/layer_records.h"
#include "fs/model/adapters.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "fs/tensor/codec.h"
#include "fs/tensor/importance_matrix.h"
#include "fs/util/log.h"
#include "fs/util/plural.h"
#include "gguf/error.h"
#include "gguf/importance.h"
#include "gguf/quant.h"
#include "gguf/types.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Choices on their way into the layer. */
struct choosing {
	struct model *model;
	struct importance_matrix *importance; /* NULL: none is in force */
	struct layer_type *rows;	      /* n of them */
	struct slot_type *types;	      /* of the same slots */
	uint32_t *slots;
	size_t n;
	struct timespec now;
	struct error err;
};

int type_edit_check(const struct organ *organ, uint32_t type,
		    const struct importance_matrix *importance, struct error *err)
{
	const struct type_info *info = type_find(type);
	char scratch[TYPE_NAME_MAX];

	if (organ->type == type)
		return 0;
	if (!decode_gives_weights(organ->type))
		return error_set(err, EINVAL, ERROR_NO_OFFSET,
				 "values of type %s cannot be converted",
				 type_name(organ->type, scratch));
	if (!info || !quant_supported(type))
		return error_set(err, EINVAL, ERROR_NO_OFFSET, "organfs has no encoder for %s",
				 type_name(type, scratch));
	if (!importance_matrix_allows(importance, organ, type))
		return error_set(err, EINVAL, ERROR_NO_OFFSET,
				 "%s needs an importance matrix that has weights for "
				 "%.*s: " TYPE_EDIT_REMEDY,
				 info->name,
				 (int)(organ->name_length < 80 ? organ->name_length : 80),
				 organ->name);
	if (organ->ne[0] > ENCODE_ROW_MAX)
		return error_set(err, EINVAL, ERROR_NO_OFFSET,
				 "rows of %" PRIu64 " values are too long to be encoded",
				 organ->ne[0]);
	if (organ->ne[0] % info->block_elements)
		return error_set(err, EINVAL, ERROR_NO_OFFSET,
				 "rows of %" PRIu64 " values are not whole blocks of %" PRIu32
				 ", as %s has them",
				 organ->ne[0], info->block_elements, info->name);
	return 0;
}

/* Would the slot show its content unchanged without a chosen type? */
static bool is_plain(const struct model *model, uint32_t slot, const struct content *own)
{
	struct content *shown = slots_get(model->slots, slot);
	const bool merged = shown && shown->kind == CONTENT_MERGED && !content_is_retyped(shown);

	content_unref(shown);
	return !merged && !(model->keep_types && content_is_graft(own));
}

/* Add a choice that changes something. Returns 0, or -errno with err set. */
static int add(struct choosing *choosing, const struct type_choice *choice)
{
	struct model *model = choosing->model;
	const uint32_t i = choice->slot;
	const struct organ_place *place = &model->places[i];
	const struct slot_type before = slots_type(model->slots, i);
	struct content *own = slots_get_own(model->slots, i);
	struct slot_type type = { choice->type != TYPE_EDIT_OWN, choice->type, choosing->now };
	const struct organ organ = content_is_whiteout(own) ? (struct organ){ .name = NULL }
							    : model_organ_in_place(model, i, own);
	int rc = 0;

	if (content_is_whiteout(own) || place->klass == CLASS_ADAPTERS)
		rc = error_set(&choosing->err, ENOENT, ERROR_NO_OFFSET, "the slot has no tensor");
	else if (type.is_set)
		rc = type_edit_check(&organ, type.type, choosing->importance, &choosing->err);
	if (type.is_set && type.type == organ.type && is_plain(model, i, own))
		type.is_set = false;
	content_unref(own);
	if (rc < 0 || (!type.is_set && !before.is_set) ||
	    (type.is_set && before.is_set && type.type == before.type))
		return rc;
	choosing->rows[choosing->n] =
		(struct layer_type){ .klass = place->klass,
				     .name = place->name,
				     .type = type.is_set ? type_find(type.type)->name : NULL,
				     .mtime = choosing->now };
	choosing->slots[choosing->n] = i;
	choosing->types[choosing->n++] = type;
	return 0;
}

/* Does the layer record choices? A model opened to be read keeps them in memory alone. */
static bool keeps_choices(const struct model *model)
{
	return model->layer && !layer_is_read_only(model->layer);
}

/* The caller holds the commit lock. */
static int choose_all(struct choosing *choosing, const struct type_choice *choices, size_t n)
{
	struct model *model = choosing->model;
	char path[ORGAN_PATH_MAX];
	int rc = journal_check(model);

	for (size_t i = 0; rc == 0 && i < n; i++) {
		rc = add(choosing, &choices[i]);
		if (rc < 0)
			log_add(model->log, "%s: type refused: %s; nothing is changed",
				model_organ_path(model, choices[i].slot, path), choosing->err.text);
	}
	if (rc == 0 && choosing->n && keeps_choices(model))
		rc = layer_write_types(model->layer, choosing->rows, choosing->n);
	if (rc < 0 || choosing->n == 0)
		return rc;
	for (size_t i = 0; i < choosing->n; i++)
		slots_set_type(model->slots, choosing->slots[i], &choosing->types[i]);
	adapters_refresh(model);
	return 0;
}

int type_edit_choose(struct model *model, const struct type_choice *choices, size_t n)
{
	struct choosing choosing = { .model = model };
	char text[LAYER_WHY];
	int rc = -ENOMEM;

	clock_gettime(CLOCK_REALTIME, &choosing.now);
	choosing.rows = calloc(n + 1, sizeof(*choosing.rows));
	choosing.types = calloc(n + 1, sizeof(*choosing.types));
	choosing.slots = calloc(n + 1, sizeof(*choosing.slots));
	if (choosing.rows && choosing.types && choosing.slots) {
		journal_begin(model);
		choosing.importance = adapters_importance(model);
		rc = choose_all(&choosing, choices, n);
		importance_matrix_unref(choosing.importance);
		journal_end(model);
	}
	free(choosing.rows);
	free(choosing.types);
	free(choosing.slots);
	if (rc < 0 && !choosing.err.code)
		log_add(model->log, TYPE_EDIT_FILE ": refused: %s; nothing is changed",
			layer_why(model->layer, NULL, rc, text));
	return rc;
}

static int refuse_lines(struct model *model, const char *file, const struct error *err)
{
	log_add(model->log, "%s: refused: %s; nothing is changed", file, err->text);
	return -err->code;
}

int type_edit_write(struct model *model, const char *file, char *lines)
{
	struct type_lines read;
	struct error err = { 0 };
	int rc = type_lines_read(model, lines, &read, &err);

	if (rc < 0)
		refuse_lines(model, file, &err);
	else
		rc = type_edit_choose(model, read.choices, read.n);
	if (rc == 0)
		log_add(model->log, "%s: %zu tensor%s named", file, read.n,
			read.n == 1 ? " is" : "s are");
	if (rc == 0 && read.unfit)
		log_add(model->log,
			"%s: %" PRIu32 " tensor%s named by patterns keep%s the type: rows are "
			"not whole blocks of the new one, or it needs weights that the importance "
			"matrix lacks",
			file, read.unfit, plural(read.unfit), read.unfit == 1 ? "s" : "");
	free(read.choices);
	return rc;
}

int type_edit_judge(struct model *model, char *lines)
{
	struct type_lines read;
	struct error err = { 0 };
	const int rc = type_lines_read(model, lines, &read, &err);

	free(read.choices);
	return rc < 0 ? refuse_lines(model, TYPE_EDIT_FILE, &err) : 0;
}

static bool is_undone(const struct undo_list *undone, const struct organ_place *place)
{
	for (size_t i = 0; undone && i < undone->n; i++)
		if (undone->items[i].item == LAYER_TYPED_SLOT &&
		    undone->items[i].klass == place->klass &&
		    strcmp(undone->items[i].name, place->name) == 0)
			return true;
	return false;
}

int type_edit_check_importance(const struct model *model, const struct gguf *next,
			       const struct undo_list *undone, struct error *err)
{
	const uint32_t n = slots_count(model->slots);
	char path[ORGAN_PATH_MAX];

	for (uint32_t i = 0; i < n; i++) {
		const struct slot_type chosen = slots_type(model->slots, i);
		const struct organ_place *place = &model->places[i];

		if (!chosen.is_set || !quant_needs_importance(chosen.type) ||
		    (next && importance_has(next, place->tensor, place->tensor_length)) ||
		    is_undone(undone, place))
			continue;
		model_organ_path(model, i, path);
		return error_set(err, next ? EINVAL : EBUSY, ERROR_NO_OFFSET,
				 "%s is chosen for %.120s and needs weights of the matrix: "
				 "take the type back first: setfattr -x user.organfs.type FILE",
				 type_find(chosen.type)->name, path);
	}
	return 0;
}

static int recover_one(void *context, const struct layer_type *row, struct error *err)
{
	struct model *model = context;
	struct slot_type type = { .is_set = true, .mtime = row->mtime };
	char file[ORGAN_PATH_MAX];
	uint32_t slot;

	(void)err;
	if (row->klass != CLASS_ADAPTERS &&
	    model_find_slot(model, row->klass, row->name, strlen(row->name), &slot) &&
	    type_by_name(row->type, strlen(row->type), &type.type) && quant_supported(type.type)) {
		slots_set_type(model->slots, slot, &type);
		model->recovered++;
		return 0;
	}
	snprintf(file, sizeof(file), "%.*s.bin", (int)sizeof(file) - 5, row->name);
	model_leave_alone(model, class_name(row->klass), file,
			  "the type has no encoder, or the slot does not exist");
	return 0;
}

int type_edit_recover(struct model *model, struct error *err)
{
	const uint32_t before = model->recovered;
	const int rc = layer_each_type(model->layer, recover_one, model, err);

	if (rc == 0 && model->recovered > before)
		adapters_refresh(model);
	return rc;
}
