/* SPDX-License-Identifier: MIT */
/* layout_header.c - the header of an assembled GGUF: counts, metadata and infos. */
#include "bytes.h"
#include "error.h"
#include "layout_internal.h"
#include "types.h"

#include <errno.h>
#include <stdlib.h>

/* Bytes of a count or length. */
static size_t count_width(const struct plan *plan)
{
	return plan->base->version > 1 ? 8 : 4;
}

static uint8_t *store_length(const struct plan *plan, uint8_t *bytes, uint64_t value)
{
	return plan->base->version > 1 ? store_u64(bytes, value)
				       : store_u32(bytes, (uint32_t)value);
}

static int compare_keys(const void *a, const void *b)
{
	const struct layout_value *x = *(const struct layout_value *const *)a;
	const struct layout_value *y = *(const struct layout_value *const *)b;
	const uint32_t n = x->key_length < y->key_length ? x->key_length : y->key_length;
	const int order = memcmp(x->key, y->key, n);

	return order ? order : (x->key_length > y->key_length) - (x->key_length < y->key_length);
}

int layout_order_values(struct plan *plan)
{
	const struct layout_values *values = plan->values;

	plan->added = calloc(values->n + 1u, sizeof(*plan->added));
	if (!plan->added)
		return -ENOMEM;
	for (uint32_t i = 0; i < values->n; i++)
		if (values->values[i].kv >= plan->base->n_kv && !values->values[i].removed)
			plan->added[plan->n_added++] = &values->values[i];
	qsort(plan->added, plan->n_added, sizeof(*plan->added), compare_keys);
	return 0;
}

/* Number of values that change entries of the base; they come first. */
static uint32_t changed_entries(const struct plan *plan)
{
	uint32_t n = 0;

	while (n < plan->values->n && plan->values->values[n].kv < plan->base->n_kv)
		n++;
	return n;
}

static uint32_t removed_entries(const struct plan *plan)
{
	uint32_t n = 0;

	for (uint32_t i = changed_entries(plan); i-- > 0;)
		n += plan->values->values[i].removed;
	return n;
}

/* Size of a value with its type, in bytes. */
static size_t value_size(const struct plan *plan, const struct layout_value *value)
{
	const size_t width = count_width(plan);

	if (value->removed)
		return 0;
	return 4 + value->length +
	       (value->type == KV_ARRAY	   ? 4 + width
		: value->type == KV_STRING ? width
					   : 0);
}

static uint8_t *store_value(const struct plan *plan, uint8_t *bytes,
			    const struct layout_value *value)
{
	if (value->removed)
		return bytes;
	bytes = store_u32(bytes, value->type);
	if (value->type == KV_ARRAY)
		bytes = store_length(plan, store_u32(bytes, value->element), value->count);
	else if (value->type == KV_STRING)
		bytes = store_length(plan, bytes, value->length);
	return store_bytes(bytes, value->bytes, value->length);
}

static size_t info_size(const struct plan *plan, const struct organ *organ)
{
	const size_t width = count_width(plan);

	return width + organ->name_length + 4 + width * organ->dims + 4 + 8;
}

static size_t header_size(const struct plan *plan)
{
	const size_t width = count_width(plan);
	size_t size = 2 * width;

	for (uint32_t i = changed_entries(plan); i-- > 0;)
		size += value_size(plan, &plan->values->values[i]);
	for (uint32_t i = 0; i < plan->n_added; i++)
		size += width + plan->added[i]->key_length + value_size(plan, plan->added[i]);
	for (uint32_t i = 0; i < plan->n; i++) {
		const struct organ organ = layout_content(plan, plan->order[i]);

		size += info_size(plan, &organ);
	}
	return size;
}

static uint8_t *store_metadata(const struct plan *plan, uint8_t *bytes)
{
	const uint32_t changed = changed_entries(plan);

	for (uint32_t i = 0; i < changed; i++)
		bytes = store_value(plan, bytes, &plan->values->values[i]);
	for (uint32_t i = 0; i < plan->n_added; i++) {
		const struct layout_value *value = plan->added[i];

		bytes = store_length(plan, bytes, value->key_length);
		bytes = store_bytes(bytes, value->key, value->key_length);
		bytes = store_value(plan, bytes, value);
	}
	return bytes;
}

static uint32_t entries(const struct plan *plan)
{
	return plan->base->n_kv - removed_entries(plan) + plan->n_added;
}

int layout_write_header(struct plan *plan, const uint64_t *offsets, struct error *err)
{
	struct layout *layout = plan->layout;
	uint8_t *bytes;

	layout->header_size = header_size(plan);
	layout->header = malloc(layout->header_size);
	if (!layout->header)
		return error_errno(err, ENOMEM);
	bytes = store_length(plan, layout->header, plan->n);
	bytes = store_length(plan, bytes, entries(plan));
	bytes = store_metadata(plan, bytes);
	for (uint32_t i = 0; i < plan->n; i++) {
		const struct organ organ = layout_content(plan, plan->order[i]);

		bytes = store_length(plan, bytes, organ.name_length);
		bytes = store_bytes(bytes, organ.name, organ.name_length);
		bytes = store_u32(bytes, organ.dims);
		for (uint32_t axis = 0; axis < organ.dims; axis++)
			bytes = store_length(plan, bytes, organ.ne[axis]);
		bytes = store_u32(bytes, type_id(organ.type));
		bytes = store_u64(bytes, offsets[i]);
	}
	return 0;
}

/* in every version both counts follow magic and version */
#define COUNTS_OFFSET 8

/* Begin of an entry of the base; entries are contiguous. */
static uint64_t entry_start(const struct plan *plan, uint32_t number)
{
	const struct kv *before;

	if (number == 0)
		return COUNTS_OFFSET + 2 * count_width(plan);
	before = &plan->base->kv[number - 1];
	return before->offset + before->length;
}

void layout_add_header(struct plan *plan)
{
	const struct gguf *base = plan->base;
	const uint32_t changed = changed_entries(plan);
	const size_t width = count_width(plan);
	uint64_t at = 0, from = 2 * width;

	if (plan->n != base->n_tensors || entries(plan) != base->n_kv) {
		layout_add_piece(plan, PIECE_BASE, 0, 0, COUNTS_OFFSET);
		layout_add_piece(plan, PIECE_HEADER, 0, 0, 2 * width);
		at = COUNTS_OFFSET + 2 * width;
	}
	for (uint32_t i = 0; i < changed; i++) {
		const struct layout_value *value = &plan->values->values[i];
		const struct kv *kv = &base->kv[value->kv];
		uint64_t start = entry_start(plan, value->kv);

		/* If the value changed, the key's bytes stay the base's. */
		if (!value->removed)
			start += width + kv->key_length;
		layout_add_piece(plan, PIECE_BASE, 0, at, start - at);
		layout_add_piece(plan, PIECE_HEADER, 0, from, value_size(plan, value));
		from += value_size(plan, value);
		at = kv->offset + kv->length;
	}
	layout_add_piece(plan, PIECE_BASE, 0, at, base->infos_offset - at);
	layout_add_piece(plan, PIECE_HEADER, 0, from, plan->layout->header_size - from);
}
