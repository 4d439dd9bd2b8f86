/* SPDX-License-Identifier: MIT */
/* model_view.c - see model_view.h. */
#include "fs/assemble/model_view.h"
#include "fs/assemble/block_metadata.h"
#include "fs/metadata/metadata.h"
#include "fs/model/adapters.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "fs/storage/backing.h"
#include "fs/storage/view.h"
#include "gguf/error.h"
#include "gguf/layout.h"
#include "gguf/organ.h"
#include "gguf/types.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct segment segment_of(const struct piece *piece, const struct layout *layout,
				 struct model *model, const struct snapshot *snapshot)
{
	const struct content *graft =
		piece->kind == PIECE_GRAFT ? snapshot->content[piece->slot] : NULL;

	return segment_of_piece(piece, layout, graft ? graft->file : model->base,
				graft ? graft->offset : piece->offset);
}

/* A view of that size whose reads fail, for an adapter that cannot be read. */
static struct view *unreadable(const struct model *model, uint64_t size)
{
	struct segment segment = { .kind = SEGMENT_EXTENT, .length = size };
	struct view *view = NULL;

	segment.backing = backing_new_missing(backing_path(model->base), size);
	if (segment.backing)
		view = view_new(&segment, 1, NULL);
	backing_unref(segment.backing);
	return view;
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

/* A part of the base before, between or after its tensors. */
struct between {
	uint64_t start, length;
};

/* Find these parts, n in file order, to free. NULL: out of memory. */
static struct between *find_between(const struct gguf *gguf, size_t *n)
{
	struct between *all = calloc(gguf->n_tensors + 1u, sizeof(*all));
	uint64_t at = 0;

	*n = 0;
	for (uint32_t i = 0; all && i <= gguf->n_tensors; i++) {
		const struct gguf_tensor *t =
			i < gguf->n_tensors ? &gguf->tensors[gguf->order[i]] : NULL;
		const uint64_t end = t ? t->offset : gguf->size;

		if (t && t->size == 0)
			continue;
		if (end > at)
			all[(*n)++] = (struct between){ at, end - at };
		if (t && t->offset + t->size > at)
			at = t->offset + t->size;
	}
	return all;
}

/* Append the parts of a piece of the base that belong to no tensor. Returns the number of
 * segments. */
static size_t cut_tensors(const struct segment *piece, const struct between *between, size_t n,
			  struct segment *segments, size_t k)
{
	const uint64_t end = piece->offset + piece->length;
	size_t low = 0, high = n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (between[middle].start + between[middle].length <= piece->offset)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < n && between[low].start < end; low++) {
		const uint64_t last = between[low].start + between[low].length;
		const uint64_t from =
			between[low].start > piece->offset ? between[low].start : piece->offset;

		segments[k] = *piece;
		segments[k].offset = from;
		segments[k++].length = (last < end ? last : end) - from;
	}
	return k;
}

/* The layout without the tensors' bytes. */
static struct view *header_of_layout(struct layout *layout, struct model *model,
				     const struct snapshot *snapshot)
{
	size_t n, k = 0;
	struct between *between = find_between(model->gguf, &n);
	struct segment *segments = calloc(layout->n_pieces + n + 1, sizeof(*segments));
	struct view *view = NULL;

	for (size_t i = 0; between && segments && i < layout->n_pieces; i++) {
		const struct piece *piece = &layout->pieces[i];
		const struct segment segment = segment_of(piece, layout, model, snapshot);

		if (piece->kind == PIECE_BASE)
			k = cut_tensors(&segment, between, n, segments, k);
		else if (piece->kind != PIECE_GRAFT)
			segments[k++] = segment;
	}
	if (between && segments) {
		view = view_new(segments, k, layout->header);
		layout->header = NULL;
	}
	free(between);
	free(segments);
	return view;
}

/* Check that every graft and adapter of the model can be read. */
static int check_whole(const struct model *model, const struct snapshot *snapshot,
		       struct error *err)
{
	const struct adapter_list *adapters = snapshot->adapters;
	char path[ORGAN_PATH_MAX];

	for (uint32_t i = 0; adapters && i < adapters->n; i++)
		if (adapters->lines[i].broken)
			return error_set(err, EIO, ERROR_NO_OFFSET, "%s%.100s: %.140s",
					 adapters_is_importance(adapters->lines[i].name)
						 ? ""
						 : "adapters/",
					 adapters->lines[i].name, adapters->lines[i].broken);
	for (uint32_t i = 0; i < snapshot->n; i++)
		if (snapshot->content[i] && snapshot->content[i]->broken)
			return error_set(err, EIO, ERROR_NO_OFFSET, "%s: %s",
					 model_organ_path(model, i, path),
					 snapshot->content[i]->broken);
	return 0;
}

static struct layout_value value_of(const struct metadata_edit *edit)
{
	struct layout_value value = { .kv = edit->i,
				      .removed = !edit->metadatum,
				      .key = edit->key.key,
				      .key_length = edit->key.length };
	const struct value *is;

	if (edit->metadatum) {
		is = metadata_entry_value(edit->metadatum);
		value.type = is->type.type;
		value.element = is->type.element;
		value.count = is->count;
		value.bytes = metadata_entry_bytes(edit->metadatum);
		value.length = (size_t)is->length;
	}
	return value;
}

/* Merge the values that follow the blocks and the edits, which never have the same keys, in the
 * order of the keys. Returns 0 or -ENOMEM. */
static int merge_values(const struct layout_values *follow, const struct metadata_edits *edits,
			struct layout_values *values, struct layout_value **owned)
{
	const uint32_t n_edits = edits ? edits->n : 0;
	uint32_t f = 0, e = 0;

	/* There is room for one more value. */
	*owned = calloc((size_t)follow->n + n_edits + 1, sizeof(**owned));
	if (!*owned)
		return -ENOMEM;
	for (values->n = 0; f < follow->n || e < n_edits; values->n++) {
		const bool edit =
			e < n_edits && (f == follow->n || edits->edits[e].i < follow->values[f].kv);

		(*owned)[values->n] = edit ? value_of(&edits->edits[e++]) : follow->values[f++];
	}
	values->values = *owned;
	return 0;
}

/* Whether the value belongs to that key, which has the number kv in the base. */
static bool is_of(const struct layout_value *value, uint32_t kv, const struct gguf *gguf,
		  const char *key)
{
	return kv < gguf->n_kv ? value->kv == kv
			       : value->kv >= gguf->n_kv && value->key_length == strlen(key) &&
					 memcmp(value->key, key, strlen(key)) == 0;
}

/* Add the lineage to the values in place of the base's or an edited one; owned has room for it.
 * *text, to free, has to live as long as the values. Returns 0, or -errno with err set. */
static int add_lineage(struct model *model, const struct snapshot *snapshot,
		       struct layout_values *values, struct layout_value *owned, char **text,
		       struct error *err)
{
	const struct gguf *gguf = model->gguf;
	const struct kv *has = gguf_find(gguf, LINEAGE_KEY);
	const uint32_t kv = has ? (uint32_t)(has - gguf->kv) : UINT32_MAX;
	uint32_t at = 0;
	size_t size;

	if (!model->lineage.text)
		return 0;
	*text = model->lineage.text(model->lineage.context, snapshot, &size);
	if (!*text)
		return error_errno(err, ENOMEM);
	if (size == 0)
		return 0;
	while (at < values->n && !is_of(&owned[at], kv, gguf, LINEAGE_KEY) && owned[at].kv < kv)
		at++;
	if (at == values->n || !is_of(&owned[at], kv, gguf, LINEAGE_KEY)) {
		memmove(&owned[at + 1], &owned[at], (values->n - at) * sizeof(*owned));
		values->n++;
	}
	owned[at] = (struct layout_value){ .kv = kv,
					   .key = LINEAGE_KEY,
					   .key_length = sizeof(LINEAGE_KEY) - 1,
					   .type = KV_STRING,
					   .bytes = (const uint8_t *)*text,
					   .length = size };
	return 0;
}

/* Fill the slots of the layout; organs get their slots' names. */
static void fill_slots(const struct model *model, const struct snapshot *snapshot,
		       struct layout_slot *slots, struct organ *organs)
{
	for (uint32_t i = 0; i < snapshot->n; i++) {
		const struct content *content = snapshot->content[i];

		if (content_is_whiteout(content) || adapters_is_half(model, i))
			slots[i].fill = FILL_NOTHING;
		else if (content)
			slots[i] = (struct layout_slot){ FILL_ORGAN, &organs[i] };
		if (slots[i].fill == FILL_ORGAN) {
			organs[i] = content->organ;
			organs[i].name = model->places[i].tensor;
			organs[i].name_length = model->places[i].tensor_length;
		}
	}
}

/* Refuse a short tensor of the base that leaves its place, where its bytes would look complete. */
static int check_short(const struct model *model, const struct layout_slot *slots,
		       struct error *err)
{
	const struct gguf *gguf = model->gguf;
	char path[ORGAN_PATH_MAX];

	for (uint32_t i = 0; i < gguf->n_tensors; i++) {
		const struct organ organ = organ_of_tensor(&gguf->tensors[i]);

		if (slots[i].fill == FILL_BASE &&
		    organ_check_whole(&organ, model_organ_path(model, i, path), err) < 0)
			return -EINVAL;
	}
	return 0;
}

static int refuse_lacking(const struct model *model, struct error *err)
{
	char *lacks = model_missing_shards(model);
	const int rc =
		error_set(err, ENODATA, ERROR_NO_OFFSET, "%s", lacks ? lacks : "out of memory");

	free(lacks);
	return rc;
}

/* Options of the view. */
enum wanted {
	WANTED_STRICT = 1,  /* fail if blocks have gaps */
	WANTED_HEADER = 2,  /* without the tensors' bytes */
	WANTED_LINEAGE = 4, /* with the lineage */
};

/* Plan the file; slots and organs have an element for every slot. */
static int plan(struct model *model, const struct snapshot *snapshot, unsigned wanted,
		struct layout_slot *slots, struct organ *organs, struct layout *layout,
		struct error *err)
{
	static const struct layout_values none;
	struct layout_value *owned = NULL;
	struct layout_values values;
	char *text = NULL;
	struct layout_values follow = { 0 };
	int rc;

	if (!model->whole)
		return refuse_lacking(model, err);
	fill_slots(model, snapshot, slots, organs);
	rc = block_metadata_find(model, snapshot, &follow, err);
	if (rc == 0 && (wanted & WANTED_STRICT))
		rc = check_whole(model, snapshot, err);
	if (rc == 0 || !(wanted & WANTED_STRICT)) {
		rc = merge_values(rc == 0 || rc == -EINVAL ? &follow : &none, snapshot->edits,
				  &values, &owned);
		if (rc < 0)
			error_errno(err, ENOMEM);
		else if (wanted & WANTED_LINEAGE)
			rc = add_lineage(model, snapshot, &values, owned, &text, err);
		if (rc == 0 &&
		    (model->shards || snapshot->grafts || values.n || (wanted & WANTED_STRICT)))
			rc = check_short(model, slots, err);
		if (rc == 0)
			rc = layout_build(model->gguf, slots, snapshot->n, &values, layout, err);
	}
	free(text);
	free(owned);
	block_metadata_release(&follow);
	return rc;
}

/* Whether an adapter cannot be read, so that its changes are unknown. */
static bool lacks_adapter(const struct model *model, const struct snapshot *snapshot)
{
	if (snapshot->adapters && snapshot->adapters->broken)
		return true;
	for (uint32_t i = model->gguf->n_tensors; i < snapshot->n; i++)
		if (snapshot->content[i] && snapshot->content[i]->broken &&
		    adapters_is_half(model, i))
			return true;
	return false;
}

static struct view *view_of(struct model *model, const struct snapshot *snapshot, unsigned wanted,
			    struct error *err)
{
	struct layout_slot *slots = calloc(snapshot->n + 1u, sizeof(*slots));
	struct organ *organs = calloc(snapshot->n + 1u, sizeof(*organs));
	struct view *view = NULL;
	struct layout layout;
	int rc = -ENOMEM;

	if (slots && organs)
		rc = plan(model, snapshot, wanted, slots, organs, &layout, err);
	else
		error_errno(err, ENOMEM);
	free(slots);
	free(organs);
	if (rc == 0) {
		if (wanted & WANTED_HEADER)
			view = header_of_layout(&layout, model, snapshot);
		else if (lacks_adapter(model, snapshot))
			view = unreadable(model, layout.size);
		else
			view = view_of_layout(&layout, model, snapshot);
		layout_release(&layout);
		if (!view)
			error_errno(err, ENOMEM);
	}
	return view;
}

struct view *model_view(struct model *model, const struct snapshot *snapshot, bool strict,
			struct error *err)
{
	return view_of(model, snapshot, WANTED_LINEAGE | (strict ? WANTED_STRICT : 0), err);
}

struct view *model_view_header(struct model *model, const struct snapshot *snapshot, bool lineage,
			       struct error *err)
{
	return view_of(model, snapshot, WANTED_HEADER | (lineage ? WANTED_LINEAGE : 0), err);
}

struct view *model_view_without_lineage(struct model *model, const struct snapshot *snapshot,
					struct error *err)
{
	return view_of(model, snapshot, 0, err);
}
