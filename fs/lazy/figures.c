/* SPDX-License-Identifier: MIT */
/* figures.c - see figures.h. */
#include "fs/lazy/figures.h"
#include "fs/base/donor.h"
#include "fs/layer/layer.h"
#include "fs/lazy/memo.h"
#include "fs/metadata/metadata.h"
#include "fs/model/adapters.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "fs/tensor/importance_matrix.h"
#include "gguf/arena.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *keep(struct figures *figures, const char *text)
{
	return arena_copy(figures->arena, text, strlen(text));
}

/* Keep the donor's path; for an organ file only its directory, which names the donor. */
static const char *keep_donor(struct figures *figures, const struct donor *donor)
{
	const char *path = donor_path(donor), *slash = strrchr(path, '/');
	size_t n;

	if (donor_tensor(donor, &n) || !slash)
		return keep(figures, path);
	return arena_copy(figures->arena, path, (size_t)(slash - path) + 1);
}

/* Fill in the changes of a tensor. False: out of memory. */
static bool fill_changes(struct figures *figures, struct figure *figure, uint32_t i,
			 struct content *content)
{
	const struct gguf *gguf = figures->model->gguf;
	const struct content *own = content_own(content);

	if (content_is_graft(own))
		figure->changes |= 1u << FIGURE_GRAFTED;
	if (i >= gguf->n_tensors)
		figure->changes |= 1u << FIGURE_ADDED;
	else if (content && content->organ.type != gguf->tensors[i].type)
		figure->changes |= 1u << FIGURE_CONVERTED;
	if (content && content->kind == CONTENT_MERGED && !content_is_retyped(content))
		figure->changes |= 1u << FIGURE_MERGED;
	if (!own || !own->donor)
		return true;
	figure->donor = keep_donor(figures, own->donor);
	return figure->donor != NULL;
}

/* Fill in the figure of a content, NULL for the base's. False: out of memory. */
static bool fill(struct figures *figures, struct figure *figure, uint32_t i,
		 struct content *content)
{
	struct model *model = figures->model;
	const struct organ_place *place = &model->places[i];
	const struct organ organ = model_organ(model, i, content);
	char path[ORGAN_PATH_MAX], role[ANATOMY_NAME_MAX + 1], scratch[TYPE_NAME_MAX];
	char shape[SHAPE_TEXT_MAX];

	anatomy_role(place->tensor, place->tensor_length, role);
	*figure = (struct figure){
		.file = keep(figures, model_organ_path(model, i, path)),
		.tensor = place->tensor,
		.tensor_length = place->tensor_length,
		.role = keep(figures, role),
		.type = keep(figures, type_name(organ.type, scratch)),
		.shape = keep(figures, shape_text(organ.ne, organ.dims, shape)),
		.bytes = organ.data_size,
		.klass = place->klass,
		.kind = anatomy_kind_in(place->klass, place->tensor, place->tensor_length),
		.block = place->block,
		.importance = NAN,
	};
	shape_elements(organ.ne, &figure->elements);
	return figure->file && figure->role && figure->type && figure->shape &&
	       fill_changes(figures, figure, i, content);
}

static bool fill_slot(struct figures *figures, uint32_t i, struct content *content)
{
	struct figure *figure;

	if (!content_is_whiteout(content)) {
		figures->subjects[figures->n] =
			(struct subject){ i, content ? content_ref(content) : NULL };
		return fill(figures, &figures->figures[figures->n++], i, content);
	}
	if (i >= figures->model->gguf->n_tensors)
		return true;
	figure = &figures->removed[figures->n_removed++];
	if (!fill(figures, figure, i, NULL))
		return false;
	figure->changes = 1u << FIGURE_REMOVED;
	return true;
}

/* False: out of memory. */
static bool fill_layer(struct figures *figures)
{
	struct layer *layer = figures->model->layer;
	char path[PATH_MAX];

	if (!layer || !layer_directory(layer, path))
		return true;
	figures->layer = keep(figures, path);
	return figures->layer != NULL;
}

struct figures *figures_new(struct model *model, const struct snapshot *snapshot)
{
	struct figures *figures = calloc(1, sizeof(*figures));
	uint32_t *order = model_order(model, snapshot->n);
	bool well;

	if (!figures) {
		free(order);
		return NULL;
	}
	figures->model = model;
	figures->grafts = snapshot->grafts;
	figures->edits = metadata_edits_ref(snapshot->edits);
	figures->figures = calloc(snapshot->n + 1u, sizeof(*figures->figures));
	figures->removed = calloc(snapshot->n + 1u, sizeof(*figures->removed));
	figures->subjects = calloc(snapshot->n + 1u, sizeof(*figures->subjects));
	figures->arena = arena_new();
	well = figures->figures && figures->removed && figures->subjects && figures->arena &&
	       order && fill_layer(figures);
	for (uint32_t k = 0; well && k < snapshot->n; k++)
		well = fill_slot(figures, order[k], snapshot->content[order[k]]);
	free(order);
	if (well)
		return figures;
	figures_free(figures);
	return NULL;
}

struct figures *figures_of_base(struct model *model)
{
	struct snapshot base = { .n = model->gguf->n_tensors };
	struct figures *figures;

	base.content = calloc(base.n + 1u, sizeof(struct content *));
	figures = base.content ? figures_new(model, &base) : NULL;
	free(base.content);
	return figures;
}

static struct organ organ_of(const struct figures *figures, size_t i)
{
	const struct subject *subject = &figures->subjects[i];

	return model_organ_in_place(figures->model, subject->tensor, subject->content);
}

struct figures *figures_add_weights(struct figures *figures)
{
	if (!figures)
		return NULL;
	figures->importance = adapters_importance(figures->model);
	for (size_t i = 0; i < figures->n; i++) {
		const struct organ organ = organ_of(figures, i);

		figures->figures[i].weighed = importance_matrix_has(figures->importance, &organ);
	}
	return figures;
}

/* Read the mean weight; an unreadable matrix is no error of the measures. */
static void weigh(const struct figures *figures, size_t i)
{
	const struct organ organ = organ_of(figures, i);
	struct figure *figure = &figures->figures[i];

	if (figure->weighed &&
	    importance_matrix_mean(figures->importance, &organ, &figure->importance, NULL) < 0)
		figure->importance = NAN;
}

int figures_measure(struct figures *figures, struct memo *measures, struct zmeasure *values,
		    const atomic_bool *stop)
{
	int rc = memo_prepare(measures, figures->subjects, figures->n, stop);

	for (size_t i = 0; rc == 0 && i < figures->n; i++) {
		rc = memo_get(measures, &figures->subjects[i], stop, &values[i]);
		if (rc == 0)
			figures->figures[i].z = &values[i];
		rc = rc == -ENOTSUP ? 0 : rc;
		weigh(figures, i);
	}
	return rc;
}

int figures_measure_copy(const struct figures *figures, struct memo *measures,
			 const atomic_bool *stop, struct measured_figures *copy)
{
	const size_t n = figures->n;
	int rc = 0;

	copy->figures = *figures;
	copy->figures.figures = calloc(n + 1, sizeof(*figures->figures));
	copy->values = calloc(n + 1, sizeof(*copy->values));
	if (!copy->figures.figures || !copy->values) {
		copy->figures.n = 0;
		return -ENOMEM;
	}
	memcpy(copy->figures.figures, figures->figures, n * sizeof(*figures->figures));
	if (measures)
		rc = figures_measure(&copy->figures, measures, copy->values, stop);
	for (size_t i = 0; rc < 0 && i < n; i++)
		copy->figures.figures[i].z = NULL;
	return rc;
}

void measured_figures_release(struct measured_figures *copy)
{
	free(copy->figures.figures);
	free(copy->values);
}

void figures_free(struct figures *figures)
{
	if (!figures)
		return;
	for (size_t i = 0; figures->subjects && i < figures->n; i++)
		content_unref(figures->subjects[i].content);
	arena_free(figures->arena);
	free(figures->subjects);
	free(figures->removed);
	free(figures->figures);
	metadata_edits_unref(figures->edits);
	importance_matrix_unref(figures->importance);
	free(figures);
}
