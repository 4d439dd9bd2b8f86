/* SPDX-License-Identifier: MIT */
/* files.c - see files.h. */
#include "fs/files.h"
#include "fs/follow.h"
#include "gguf/layout.h"

#include <errno.h>
#include <stdlib.h>

uint64_t files_organ_size(const struct model *model, uint32_t tensor, const struct content *content)
{
	const struct organ organ = model_organ(model, tensor, content);

	return organ.header_size + organ.data_size;
}

struct view *files_organ(struct model *model, uint32_t tensor, const struct content *content)
{
	const struct organ organ = model_organ(model, tensor, content);
	uint8_t *header = malloc(organ.header_size);
	const struct segment segments[] = {
		{ .kind = SEGMENT_MEMORY, .length = organ.header_size, .memory = header },
		{ .kind = SEGMENT_EXTENT,
		  .length = organ.data_size,
		  .backing = content ? content->file : model->base,
		  .offset = content ? content->offset : model->gguf->tensors[tensor].offset },
	};

	if (!header)
		return NULL;
	organ_write_header(&organ, header);
	return view_new(segments, 2, header);
}

static struct segment segment_of(const struct piece *piece, const struct layout *layout,
				 struct model *model, const struct snapshot *snapshot)
{
	struct segment segment = { .length = piece->length };
	const struct content *content;

	switch (piece->kind) {
	case PIECE_ZEROS:
		segment.kind = SEGMENT_ZEROS;
		break;
	case PIECE_HEADER:
		segment.kind = SEGMENT_MEMORY;
		segment.memory = layout->header + piece->offset;
		break;
	case PIECE_BASE:
		segment.kind = SEGMENT_EXTENT;
		segment.backing = model->base;
		segment.offset = piece->offset;
		break;
	case PIECE_GRAFT:
		content = snapshot->content[piece->slot];
		segment.kind = SEGMENT_EXTENT;
		segment.backing = content->file;
		segment.offset = content->offset;
		break;
	}
	return segment;
}

static struct view *view_of_layout(struct layout *layout, struct model *model,
				   const struct snapshot *snapshot)
{
	struct segment *segments = calloc(layout->n_pieces + 1, sizeof(*segments));
	struct view *view;

	if (!segments)
		return NULL;
	for (size_t i = 0; i < layout->n_pieces; i++)
		segments[i] = segment_of(&layout->pieces[i], layout, model, snapshot);
	view = view_new(segments, layout->n_pieces, layout->header);
	layout->header = NULL;
	free(segments);
	return view;
}

/* Is every graft there that the model is to be made with? */
static int check_whole(const struct model *model, const struct snapshot *snapshot,
		       struct error *err)
{
	char path[ORGAN_PATH_MAX];

	for (uint32_t i = 0; i < snapshot->n; i++)
		if (snapshot->content[i] && snapshot->content[i]->broken)
			return error_set(err, EIO, ERROR_NO_OFFSET, "%s: %s",
					 model_organ_path(model, i, path),
					 snapshot->content[i]->broken);
	return 0;
}

struct view *files_model(struct model *model, const struct snapshot *snapshot, bool strict,
			 struct error *err)
{
	struct layout_slot *slots = calloc(snapshot->n + 1u, sizeof(*slots));
	struct organ *organs =
		calloc(snapshot->n + 1u, sizeof(*organs)); /* under their slot's name */
	struct view *view = NULL;
	struct follow follow = { .owned = NULL };
	struct layout layout;
	int rc;

	if (!slots || !organs) {
		free(slots);
		free(organs);
		error_set(err, ENOMEM, ERROR_NO_OFFSET, "out of memory");
		return NULL;
	}
	for (uint32_t i = 0; i < snapshot->n; i++) {
		const struct content *content = snapshot->content[i];

		if (content_is_nothing(content))
			slots[i].fill = FILL_NOTHING;
		else if (content)
			slots[i] = (struct layout_slot){ FILL_ORGAN, &organs[i] };
		if (slots[i].fill == FILL_ORGAN) {
			organs[i] = content->organ;
			organs[i].name = model->places[i].tensor;
			organs[i].name_length = model->places[i].tensor_length;
		}
	}
	rc = model->follow ? follow_blocks(model, snapshot, &follow, err) : 0;
	if (rc == 0 && strict)
		rc = check_whole(model, snapshot, err);
	if (rc == 0 || !strict)
		rc = layout_build(model->gguf, slots, snapshot->n, &follow.values, &layout, err);
	follow_release(&follow);
	free(slots);
	free(organs);
	if (rc == 0) {
		view = view_of_layout(&layout, model, snapshot);
		layout_release(&layout);
		if (!view)
			error_set(err, ENOMEM, ERROR_NO_OFFSET, "out of memory");
	}
	return view;
}
