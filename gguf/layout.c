/* SPDX-License-Identifier: MIT */
/* layout.c - see layout.h. */
#include "layout.h"
#include "bytes.h"

#include <errno.h>
#include <stdlib.h>

struct plan {
	const struct gguf *base;
	const struct layout_slot *slots;
	struct layout *layout;
	const struct layout_values *values;
	uint32_t *order; /* slots that hold something, as their infos stand in the file */
	uint32_t n;	 /* of these */
};

static bool is_added(const struct plan *plan, uint32_t slot)
{
	return slot >= plan->base->n_tensors;
}

/* What fills a slot: an organ goes under the slot's name, with as many axes as the base's info has
 * or it needs. */
static struct organ slot_content(const struct plan *plan, uint32_t slot)
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
	const uint32_t n = x->name_length < y->name_length ? x->name_length : y->name_length;
	const int order = memcmp(x->name, y->name, n);

	return order ? order
		     : (x->name_length > y->name_length) - (x->name_length < y->name_length);
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

/* There is room for every piece a plan can have, so adding cannot fail: see layout_build(). */
static void add_piece(struct plan *plan, enum piece_kind kind, uint32_t slot, uint64_t offset,
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

/* Bytes of a count or length. */
static size_t count_width(const struct plan *plan)
{
	return plan->base->version > 1 ? 8 : 4;
}

static size_t info_size(const struct plan *plan, const struct organ *organ)
{
	const size_t width = count_width(plan);

	return width + organ->name_length + 4 + width * organ->dims + 4 + 8;
}

static uint8_t *store_length(const struct plan *plan, uint8_t *bytes, uint64_t value)
{
	return plan->base->version > 1 ? store_u64(bytes, value)
				       : store_u32(bytes, (uint32_t)value);
}

/* Bytes of a replaced value with, for an array, its count. */
static size_t value_size(const struct plan *plan, const struct layout_value *value)
{
	const bool array = plan->base->kv[value->kv].type == KV_ARRAY;

	return (array ? count_width(plan) : 0) + value->length;
}

static uint8_t *store_values(const struct plan *plan, uint8_t *bytes)
{
	for (uint32_t i = 0; i < plan->values->n; i++) {
		const struct layout_value *value = &plan->values->values[i];

		if (plan->base->kv[value->kv].type == KV_ARRAY)
			bytes = store_length(plan, bytes, value->count);
		bytes = store_bytes(bytes, value->bytes, value->length);
	}
	return bytes;
}

/* Write the number of tensors, the replaced values, then all infos, into the layout's header.
 * offsets: of the data, by place in the order. */
static int write_infos(struct plan *plan, const uint64_t *offsets, struct error *err)
{
	struct layout *layout = plan->layout;
	uint8_t *bytes;

	layout->header_size = count_width(plan);
	for (uint32_t i = 0; i < plan->values->n; i++)
		layout->header_size += value_size(plan, &plan->values->values[i]);
	for (uint32_t i = 0; i < plan->n; i++) {
		const struct organ organ = slot_content(plan, plan->order[i]);

		layout->header_size += info_size(plan, &organ);
	}
	layout->header = malloc(layout->header_size);
	if (!layout->header)
		return error_set(err, ENOMEM, ERROR_NO_OFFSET, "out of memory");
	bytes = store_values(plan, store_length(plan, layout->header, plan->n));
	for (uint32_t i = 0; i < plan->n; i++) {
		const struct organ organ = slot_content(plan, plan->order[i]);

		bytes = store_length(plan, bytes, organ.name_length);
		bytes = store_bytes(bytes, organ.name, organ.name_length);
		bytes = store_u32(bytes, organ.dims);
		for (uint32_t axis = 0; axis < organ.dims; axis++)
			bytes = store_length(plan, bytes, organ.ne[axis]);
		bytes = store_u32(bytes, organ.type);
		bytes = store_u64(bytes, offsets[i]);
	}
	return 0;
}

/* In every version the number of tensors follows magic and version. */
#define COUNT_OFFSET 8

/* The base's header with what write_infos() has, in the place of what was there. */
static void add_header(struct plan *plan)
{
	const struct gguf *base = plan->base;
	const size_t width = count_width(plan);
	uint64_t at = 0, from = width;

	if (plan->n != base->n_tensors) {
		add_piece(plan, PIECE_BASE, 0, 0, COUNT_OFFSET);
		add_piece(plan, PIECE_HEADER, 0, 0, width);
		at = COUNT_OFFSET + width;
	}
	for (uint32_t i = 0; i < plan->values->n; i++) {
		const struct layout_value *value = &plan->values->values[i];
		const struct kv *kv = &base->kv[value->kv];
		const uint64_t start = kv->offset - (kv->type == KV_ARRAY ? width : 0);
		const size_t size = value_size(plan, value);

		add_piece(plan, PIECE_BASE, 0, at, start - at);
		add_piece(plan, PIECE_HEADER, 0, from, size);
		from += size;
		at = kv->offset + kv->length;
	}
	add_piece(plan, PIECE_BASE, 0, at, base->infos_offset - at);
	add_piece(plan, PIECE_HEADER, 0, from, plan->layout->header_size - from);
}

enum change { CHANGE_NONE, CHANGE_BYTES, CHANGE_INFOS, CHANGE_SIZES };

/* The most that any slot changes. Where tensors share bytes, a graft of one would change the
 * others too, so that they have to be laid apart. */
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
		organ = slot_content(plan, i);
		if (organ.data_size != t->size || organ.dims != t->dims)
			return CHANGE_SIZES;
		if (!same_info(&organ, t))
			change = CHANGE_INFOS;
		if (change > most)
			most = change;
	}
	return most;
}

/* Every tensor where it was; infos anew if a type or shape changed. */
static int plan_in_place(struct plan *plan, bool infos, struct error *err)
{
	const struct gguf *base = plan->base;
	uint64_t at = 0;

	if (infos) {
		uint64_t *offsets = malloc(base->n_tensors * sizeof(*offsets));
		int rc;

		if (!offsets)
			return error_set(err, ENOMEM, ERROR_NO_OFFSET, "out of memory");
		for (uint32_t i = 0; i < base->n_tensors; i++)
			offsets[i] = base->tensors[i].offset - base->data_offset;
		rc = write_infos(plan, offsets, err);
		free(offsets);
		if (rc < 0)
			return rc;
		add_header(plan);
		at = base->infos_end;
	}
	for (uint32_t i = 0; i < base->n_tensors; i++) {
		const struct gguf_tensor *t = &base->tensors[base->order[i]];

		if (plan->slots[base->order[i]].fill == FILL_BASE || t->size == 0)
			continue;
		add_piece(plan, PIECE_BASE, 0, at, t->offset - at);
		add_piece(plan, PIECE_GRAFT, base->order[i], 0, t->size);
		at = t->offset + t->size;
	}
	add_piece(plan, PIECE_BASE, 0, at, base->size - at);
	return 0;
}

/* Version 1 has 32 bits for an axis. */
static bool axes_fit(const struct plan *plan)
{
	for (uint32_t i = 0; plan->base->version == 1 && i < plan->n; i++) {
		const struct organ organ = slot_content(plan, plan->order[i]);

		for (uint32_t axis = 0; axis < organ.dims; axis++)
			if (organ.ne[axis] > UINT32_MAX)
				return false;
	}
	return true;
}

/* Offsets as running sums of padded sizes. */
static bool sum_offsets(const struct plan *plan, uint64_t *offsets)
{
	uint64_t end = 0;

	for (uint32_t i = 0; i < plan->n; i++) {
		const struct organ organ = slot_content(plan, plan->order[i]);

		offsets[i] = end;
		if (!add_u64(end, organ.data_size, &end) ||
		    !align_u64(end, plan->base->alignment, &end) || end > INT64_MAX / 2)
			return false;
	}
	return true;
}

static void pad(struct plan *plan)
{
	const uint64_t align = plan->base->alignment;

	add_piece(plan, PIECE_ZEROS, 0, 0, (align - plan->layout->size % align) % align);
}

static int plan_anew(struct plan *plan, struct error *err)
{
	uint64_t *offsets = malloc((plan->n + 1u) * sizeof(*offsets));
	int rc;

	if (!offsets)
		return error_set(err, ENOMEM, ERROR_NO_OFFSET, "out of memory");
	rc = sum_offsets(plan, offsets)
		     ? write_infos(plan, offsets, err)
		     : error_set(err, EOVERFLOW, ERROR_NO_OFFSET, "the file would be too large");
	free(offsets);
	if (rc < 0)
		return rc;
	add_header(plan);
	pad(plan);
	for (uint32_t i = 0; i < plan->n; i++) {
		const uint32_t slot = plan->order[i];
		const struct gguf_tensor *t = &plan->base->tensors[slot];

		if (plan->slots[slot].fill == FILL_ORGAN)
			add_piece(plan, PIECE_GRAFT, slot, 0, plan->slots[slot].organ->data_size);
		else
			add_piece(plan, PIECE_BASE, 0, t->offset, t->size);
		pad(plan);
	}
	return 0;
}

static int build(struct plan *plan, uint32_t n_slots, struct error *err)
{
	const enum change change = plan->values->n ? CHANGE_SIZES : find_change(plan, n_slots);

	if (find_order(plan, n_slots) < 0)
		return error_set(err, ENOMEM, ERROR_NO_OFFSET, "out of memory");
	if (!axes_fit(plan))
		return error_set(err, EOVERFLOW, ERROR_NO_OFFSET,
				 "GGUF version 1 cannot hold an axis of over 2^32 - 1 elements");
	/* Two pieces a tensor and a value, a beginning of five and an end. */
	plan->layout->pieces =
		calloc(2 * ((size_t)plan->n + plan->values->n) + 6, sizeof(struct piece));
	if (!plan->layout->pieces)
		return error_set(err, ENOMEM, ERROR_NO_OFFSET, "out of memory");
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
