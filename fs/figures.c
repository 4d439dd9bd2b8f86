/* SPDX-License-Identifier: MIT */
/* figures.c - see figures.h. */
#include "fs/figures.h"
#include "gguf/arena.h"

#include <stdlib.h>
#include <string.h>

static const char *keep(struct figures *figures, const char *text)
{
	return arena_copy(figures->arena, text, strlen(text));
}

static bool fill(struct figures *figures, uint32_t i, struct content *content)
{
	struct model *model = figures->model;
	const struct organ_place *place = &model->places[i];
	const struct organ organ = model_organ(model, i, content);
	struct figure *figure = &figures->figures[figures->n];
	char path[ORGAN_PATH_MAX], role[ANATOMY_NAME_MAX + 1], scratch[TYPE_NAME_MAX];

	figures->subjects[figures->n++] =
		(struct subject){ i, content ? content_ref(content) : NULL };
	anatomy_role(place->tensor, place->tensor_length, role);
	*figure = (struct figure){
		.file = keep(figures, model_organ_path(model, i, path)),
		.role = keep(figures, role),
		.type = keep(figures, type_name(organ.type, scratch)),
		.klass = place->klass,
		.kind = anatomy_kind(place->tensor, place->tensor_length),
		.block = place->block,
	};
	shape_elements(organ.ne, &figure->elements);
	return figure->file && figure->role && figure->type;
}

struct figures *figures_new(struct model *model, const struct snapshot *snapshot)
{
	struct figures *figures = calloc(1, sizeof(*figures));
	bool well;

	if (!figures)
		return NULL;
	figures->model = model;
	figures->grafts = snapshot->grafts;
	figures->edits = edits_ref(snapshot->edits);
	figures->figures = calloc(snapshot->n + 1u, sizeof(*figures->figures));
	figures->subjects = calloc(snapshot->n + 1u, sizeof(*figures->subjects));
	figures->arena = arena_new();
	well = figures->figures && figures->subjects && figures->arena;
	for (uint32_t i = 0; well && i < snapshot->n; i++)
		if (!content_is_nothing(snapshot->content[i]))
			well = fill(figures, i, snapshot->content[i]);
	if (well)
		return figures;
	figures_free(figures);
	return NULL;
}

void figures_free(struct figures *figures)
{
	if (!figures)
		return;
	for (size_t i = 0; figures->subjects && i < figures->n; i++)
		content_unref(figures->subjects[i].content);
	arena_free(figures->arena);
	free(figures->subjects);
	free(figures->figures);
	edits_unref(figures->edits);
	free(figures);
}
