/* SPDX-License-Identifier: MIT */
/* layout.c - see layout.h. */
#include "bytes.h"
#include "error.h"
#include "layout_internal.h"
#include "names.h"

#include <errno.h>
#include <stdlib.h>

static bool is_added(const struct plan *plan, uint32_t slot)
{
	return slot >= plan->base->n_tensors;
}

struct organ layout_content(const struct plan *plan, uint32_t slot)
{
	const struct gguf_tensor *t = &plan->base->tensors[slot];
	struct organ organ;
	uint32_t needed = GGML_AXES;

	if (plan->slots[slot].fill == FILL_BASE)
		return organ_of_tensor(t);
	organ = *plan->slots[slot].organ;
	if (is_added(plan, slot))
		return organ;
	while (needed && organ.ne[needed - 1] == 1)
		needed--;
	organ.dims = needed > t->dims ? needed : t->dims;
	organ.name = t->name;
	organ.name_length = t->name_length;
	return organ;
}

static bool same_info(const struct organ *organ, const struct gguf_tensor *t)
{
	return organ->type == t->type && organ->dims == t->dims &&
	       memcmp(organ->ne, t->ne, sizeof(t->ne)) == 0;
}

static int compare_names(const void *a, const void *b, void *context)
{
	const struct plan *plan = context;
	const struct organ *x = plan->slots[*(const uint32_t *)a].organ;
	const struct organ *y = plan->slots[*(const uint32_t *)b].organ;

	return names_compare(x->name, x->name_length, y->name, y->name_length);
}

static int find_order(struct plan *plan, uint32_t n_slots)
{
	uint32_t kept;

	plan->order = calloc(n_slots + 1u, sizeof(*plan->order));
	if (!plan->order)
		return -ENOMEM;
	for (uint32_t i = 0; i < plan->base->n_tensors; i++)
		if (plan->slots[i].fill != FILL_NOTHING)
			plan->order[plan->n++] = i;
	kept = plan->n;
	for (uint32_t i = plan->base->n_tensors; i < n_slots; i++)
		if (plan->slots[i].fill == FILL_ORGAN)
			plan->order[plan->n++] = i;
	qsort_r(plan->order + kept, plan->n - kept, sizeof(*plan->order), compare_names, plan);
	return 0;
}

void layout_add_piece(struct plan *plan, enum piece_kind kind, uint32_t slot, uint64_t offset,
		      uint64_t length)
{
	struct layout *layout = plan->layout;
	struct piece *last = layout->n_pieces ? &layout->pieces[layout->n_pieces - 1] : NULL;

	if (length == 0)
		return;
	layout->size += length;
	if (last && kind == PIECE_BASE && last->kind == PIECE_BASE &&
	    last->offset + last->length == offset) {
		last->length += length;
		return;
	}
	layout->pieces[layout->n_pieces++] = (struct piece){ kind, slot, offset, length };
}

enum change { CHANGE_NONE, CHANGE_BYTES, CHANGE_INFOS, CHANGE_SIZES };

/* The greatest change that any slot needs. If tensors share bytes, a graft of one would change the
 * others, so the data has to be laid out anew. */
static enum change find_change(const struct plan *plan, uint32_t n_slots)
{
	enum change most = CHANGE_NONE;

	for (uint32_t i = 0; i < n_slots; i++) {
		const struct gguf_tensor *t = &plan->base->tensors[i];
		enum change change = CHANGE_BYTES;
		struct organ organ;

		if (plan->slots[i].fill == (is_added(plan, i) ? FILL_NOTHING : FILL_BASE))
			continue;
		if (is_added(plan, i) || plan->slots[i].fill == FILL_NOTHING || plan->base->overlap)
			return CHANGE_SIZES;
		organ = layout_content(plan, i);
		if (organ.data_size != t->size || organ.dims != t->dims)
			return CHANGE_SIZES;
		if (!same_info(&organ, t))
			change = CHANGE_INFOS;
		if (change > most)
			most = change;
	}
	return most;
}

/* New header, with every tensor at its old place in the data. */
static int rewrite_header(struct plan *plan, struct error *err)
{
	const struct gguf *base = plan->base;
	uint64_t *offsets = malloc((base->n_tensors + 1u) * sizeof(*offsets));
	int rc;

	if (!offsets)
		return error_errno(err, ENOMEM);
	for (uint32_t i = 0; i < base->n_tensors; i++)
		offsets[i] = base->tensors[i].offset - base->data_offset;
	rc = layout_write_header(plan, offsets, err);
	free(offsets);
	if (rc == 0)
		layout_add_header(plan);
	return rc;
}

static void pad(struct plan *plan)
{
	const uint64_t align = plan->base->alignment;

	layout_add_piece(plan, PIECE_ZEROS, 0, 0, (align - plan->layout->size % align) % align);
}

/* Keep every tensor's place; write a new header if a type, shape or metadata changed. */
static int plan_in_place(struct plan *plan, bool infos, struct error *err)
{
	const struct gguf *base = plan->base;
	uint64_t at = 0;

	if (infos || plan->values->n) {
		const int rc = rewrite_header(plan, err);

		if (rc < 0)
			return rc;
		at = base->infos_end;
	}
	if (plan->values->n && base->n_tensors) {
		pad(plan);
		at = base->data_offset;
	}
	plan->layout->data_offset = plan->values->n ? plan->layout->size : base->data_offset;
	for (uint32_t i = 0; i < base->n_tensors; i++) {
		const struct gguf_tensor *t = &base->tensors[base->order[i]];

		if (plan->slots[base->order[i]].fill == FILL_BASE || t->size == 0)
			continue;
		layout_add_piece(plan, PIECE_BASE, 0, at, t->offset - at);
		layout_add_piece(plan, PIECE_GRAFT, base->order[i], 0, t->size);
		at = t->offset + t->size;
	}
	layout_add_piece(plan, PIECE_BASE, 0, at, base->size - at);
	return 0;
}

/* Version 1 has 32 bits for an axis, a length or a count. */
static bool fits_version(const struct plan *plan)
{
	if (plan->base->version > 1)
		return true;
	for (uint32_t i = 0; i < plan->n; i++) {
		const struct organ organ = layout_content(plan, plan->order[i]);

		for (uint32_t axis = 0; axis < organ.dims; axis++)
			if (organ.ne[axis] > UINT32_MAX)
				return false;
	}
	for (uint32_t i = 0; i < plan->values->n; i++)
		if (plan->values->values[i].length > UINT32_MAX ||
		    plan->values->values[i].count > UINT32_MAX)
			return false;
	return true;
}

/* Set the offsets to running sums of padded sizes. */
static bool sum_offsets(const struct plan *plan, uint64_t *offsets)
{
	uint64_t end = 0;

	for (uint32_t i = 0; i < plan->n; i++) {
		const struct organ organ = layout_content(plan, plan->order[i]);

		offsets[i] = end;
		if (!add_u64(end, organ.data_size, &end) ||
		    !align_u64(end, plan->base->alignment, &end) || end > INT64_MAX / 2)
			return false;
	}
	return true;
}

static int plan_anew(struct plan *plan, struct error *err)
{
	uint64_t *offsets = malloc((plan->n + 1u) * sizeof(*offsets));
	int rc;

	if (!offsets)
		return error_errno(err, ENOMEM);
	rc = sum_offsets(plan, offsets)
		     ? layout_write_header(plan, offsets, err)
		     : error_set(err, EOVERFLOW, ERROR_NO_OFFSET, "the file would be too large");
	free(offsets);
	if (rc < 0)
		return rc;
	layout_add_header(plan);
	pad(plan);
	plan->layout->data_offset = plan->layout->size;
	for (uint32_t i = 0; i < plan->n; i++) {
		const uint32_t slot = plan->order[i];
		const struct gguf_tensor *t = &plan->base->tensors[slot];

		if (plan->slots[slot].fill == FILL_ORGAN)
			layout_add_piece(plan, PIECE_GRAFT, slot, 0,
					 plan->slots[slot].organ->data_size);
		else
			layout_add_piece(plan, PIECE_BASE, 0, t->offset, t->size);
		pad(plan);
	}
	return 0;
}

static int build(struct plan *plan, uint32_t n_slots, struct error *err)
{
	const enum change change = find_change(plan, n_slots);

	if (find_order(plan, n_slots) < 0 || layout_order_values(plan) < 0)
		return error_errno(err, ENOMEM);
	if (!fits_version(plan))
		return error_set(err, EOVERFLOW, ERROR_NO_OFFSET,
				 "GGUF version 1 cannot hold an axis of over 2^32 - 1 elements");
	/* Two pieces per tensor and per value, six at the begin and one at the end. */
	plan->layout->pieces =
		calloc(2 * ((size_t)plan->n + plan->values->n) + 7, sizeof(struct piece));
	if (!plan->layout->pieces)
		return error_errno(err, ENOMEM);
	return change == CHANGE_SIZES ? plan_anew(plan, err)
				      : plan_in_place(plan, change == CHANGE_INFOS, err);
}

int layout_build(const struct gguf *base, const struct layout_slot *slots, uint32_t n,
		 const struct layout_values *values, struct layout *layout, struct error *err)
{
	static const struct layout_values none;
	struct plan plan = {
		.base = base, .slots = slots, .layout = layout, .values = values ? values : &none
	};
	int rc;

	*layout = (struct layout){ 0 };
	rc = build(&plan, n, err);
	free(plan.order);
	free(plan.added);
	if (rc < 0)
		layout_release(layout);
	return rc;
}

void layout_release(struct layout *layout)
{
	free(layout->pieces);
	free(layout->header);
	*layout = (struct layout){ 0 };
}
