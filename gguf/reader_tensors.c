/* SPDX-License-Identifier: MIT */
/* reader_tensors.c - the tensor table of a GGUF: shapes, types and extents, each checked.
 *
 * More is accepted than llama.cpp loads, because the data exists and can be shown and repaired:
 * tensors out of file order, gaps, tensors that share all their bytes, names of any length, unknown
 * types, and short tensors, for which the file has too few bytes. */
#include "bytes.h"
#include "error.h"
#include "names.h"
#include "reader.h"
#include "reader_internal.h"
#include "types.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

static int parse_shape(struct parse *p, struct gguf_tensor *t, uint32_t number)
{
	const uint64_t start = p->in.at;
	int rc = cursor_u32(&p->in, &t->dims);

	if (rc < 0)
		return parse_failed(p, rc, "tensor", number);
	if (t->dims > GGML_AXES)
		return error_set(p->err, EBADMSG, start,
				 "tensor \"%.80s\" has %" PRIu32 " axes; at most %d are allowed",
				 t->name, t->dims, GGML_AXES);
	for (uint32_t i = 0; i < GGML_AXES; i++)
		t->ne[i] = 1;
	for (uint32_t i = 0; i < t->dims; i++) {
		rc = parse_length(p, &t->ne[i]);
		if (rc < 0)
			return parse_failed(p, rc, "tensor", number);
	}
	return 0;
}

static int check_size(struct parse *p, struct gguf_tensor *t, uint64_t start)
{
	char scratch[TYPE_NAME_MAX];
	uint64_t elements;

	switch (type_size(t->type, t->ne, &t->size)) {
	case TYPE_SIZE_ROW:
		return error_set(p->err, EBADMSG, start,
				 "tensor \"%.80s\" has rows of %" PRIu64
				 " elements, no multiple of the %" PRIu32 " in a block of %s",
				 t->name, t->ne[0], type_find(t->type)->block_elements,
				 type_name(t->type, scratch));
	case TYPE_SIZE_OVERFLOW:
		return error_set(p->err, EBADMSG, start,
				 "tensor \"%.80s\" claims more elements than a file can hold",
				 t->name);
	case TYPE_SIZE_UNKNOWN:
		if (!shape_elements(t->ne, &elements))
			return error_set(
				p->err, EBADMSG, start,
				"tensor \"%.80s\" claims more elements than a file can hold",
				t->name);
		break;
	case TYPE_SIZE_OK:
		break;
	}
	return 0;
}

/* Parse one tensor info. offset is relative to the data until the begin of the data is known. */
static int parse_tensor(struct parse *p, uint32_t number)
{
	struct gguf_tensor *t = &p->gguf->tensors[number];
	const uint64_t start = p->in.at;
	int rc = parse_text(p, "tensor", number, &t->name, &t->name_length);

	t->info = start;
	if (rc == 0)
		rc = parse_shape(p, t, number);
	if (rc < 0)
		return rc;
	rc = cursor_u32(&p->in, &t->type);
	if (rc == 0)
		rc = cursor_u64(&p->in, &t->offset);
	if (rc < 0)
		return parse_failed(p, rc, "tensor", number);
	if (type_is_short(t->type))
		return error_set(p->err, EBADMSG, start,
				 "tensor \"%.80s\" has the type %" PRIu32 ", which no format uses",
				 t->name, t->type);
	rc = names_add(p->gguf->names, t->name, t->name_length, number);
	if (rc == -EEXIST)
		return error_set(p->err, EBADMSG, start, "the tensor name \"%.80s\" occurs twice",
				 t->name);
	if (rc < 0)
		return error_set(p->err, -rc, ERROR_NO_OFFSET, "out of memory");
	return check_size(p, t, start);
}

static int place_data(struct parse *p)
{
	struct gguf *gguf = p->gguf;
	const uint64_t limit = p->header ? INT64_MAX / 2 : gguf->size;

	gguf->infos_end = p->in.at;
	gguf->data_offset = gguf->infos_end;
	/* A file without tensors has no padding. */
	if (gguf->n_tensors && !align_u64(gguf->infos_end, gguf->alignment, &gguf->data_offset))
		return error_set(p->err, EBADMSG, gguf->infos_end, "the header is too large");
	for (uint32_t i = 0; i < gguf->n_tensors; i++) {
		struct gguf_tensor *t = &gguf->tensors[i];
		const uint64_t relative = t->offset;

		if (!add_u64(relative, gguf->data_offset, &t->offset) || t->offset > limit)
			return error_set(p->err, EBADMSG, t->info,
					 "tensor \"%.80s\" lies at %" PRIu64
					 " in the data, outside the file of %" PRIu64 " bytes",
					 t->name, relative, limit);
	}
	return 0;
}

static int by_offset(const void *a, const void *b, void *context)
{
	const struct gguf_tensor *tensors = context;
	const uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;

	if (tensors[i].offset != tensors[j].offset)
		return tensors[i].offset < tensors[j].offset ? -1 : 1;
	/* A tensor without bytes precedes the one that begins at the same offset. */
	if ((tensors[i].size == 0) != (tensors[j].size == 0))
		return tensors[i].size == 0 ? -1 : 1;
	return i < j ? -1 : i > j;
}

static void sort_by_offset(struct gguf *gguf)
{
	bool sorted = true;

	for (uint32_t i = 0; i < gguf->n_tensors; i++) {
		gguf->order[i] = i;
		if (i && by_offset(&gguf->order[i - 1], &gguf->order[i], gguf->tensors) > 0)
			sorted = false;
	}
	if (!sorted)
		qsort_r(gguf->order, gguf->n_tensors, sizeof(*gguf->order), by_offset,
			gguf->tensors);
}

/* Mark the tensor as short if its data would reach beyond `next`, which then is its end. */
static bool mark_short(struct gguf_tensor *t, uint64_t next)
{
	if (!type_find(t->type) || t->size <= next - t->offset)
		return false;
	t->type += TYPE_SHORT;
	t->size = next - t->offset;
	return true;
}

/* Offset of the last tensor that has bytes; one without bytes may stand anywhere. */
static uint64_t last_offset(const struct gguf *gguf)
{
	for (uint32_t i = gguf->n_tensors; i-- > 0;) {
		const struct gguf_tensor *t = &gguf->tensors[gguf->order[i]];

		if (t->size || !type_find(t->type))
			return t->offset;
	}
	return 0;
}

/* Data of an unknown type, or of a short tensor, extends to the next tensor or the file's end. A
 * file that ends too early is incomplete, unless another tensor is short: then the writer used
 * other sizes. */
static void size_by_offsets(struct gguf *gguf, bool header)
{
	const uint32_t n = gguf->n_tensors;
	const uint64_t last = last_offset(gguf);
	uint64_t next = header ? last : gguf->size, begins = next;
	bool any_short = false;

	for (uint32_t i = n; i-- > 0;) {
		struct gguf_tensor *t = &gguf->tensors[gguf->order[i]];

		if (t->offset < begins)
			next = begins;
		if (!type_find(t->type))
			t->size = t->offset < next ? next - t->offset : 0;
		else if (t->offset < last && mark_short(t, next))
			any_short = true;
		if (t->size || !type_find(t->type))
			begins = t->offset;
	}
	for (uint32_t i = n; !header && any_short && i-- > 0;) {
		struct gguf_tensor *t = &gguf->tensors[gguf->order[i]];

		if (t->offset < last)
			break;
		mark_short(t, gguf->size);
	}
}

/* For a packed header, set the size of the whole file. */
static int set_whole_size(struct parse *p)
{
	struct gguf *gguf = p->gguf;
	uint64_t end = gguf->data_offset, between = 0;

	for (uint32_t i = 0; i < gguf->n_tensors; i++) {
		const struct gguf_tensor *t = &gguf->tensors[gguf->order[i]];
		const uint64_t start = t->offset;

		/* An empty tensor may lie beyond the end of its file. */
		if (t->size == 0)
			continue;
		if (start > end)
			between += start - end;
		if (t->size > INT64_MAX / 2 - start)
			return error_set(p->err, EBADMSG, t->info,
					 "tensor \"%.80s\" would make the file too large", t->name);
		if (start + t->size > end)
			end = start + t->size;
	}
	if (gguf->data_offset > gguf->size || between > gguf->size - gguf->data_offset)
		return error_set(p->err, EBADMSG, gguf->size,
				 "the header ends here, %" PRIu64
				 " bytes before its end: it is incomplete",
				 gguf->data_offset + between - gguf->size);
	if (!add_u64(end, gguf->size - gguf->data_offset - between, &gguf->size))
		return error_set(p->err, EBADMSG, ERROR_NO_OFFSET, "the header is too large");
	return 0;
}

static int check_extents(struct parse *p)
{
	struct gguf *gguf = p->gguf;
	uint64_t end = 0;

	if (p->header && set_whole_size(p) < 0)
		return -p->err->code;
	for (uint32_t i = 0; i < gguf->n_tensors; i++) {
		const struct gguf_tensor *t = &gguf->tensors[gguf->order[i]];

		if (t->size > gguf->size - t->offset)
			return error_set(p->err, EBADMSG, t->offset,
					 "tensor \"%.80s\" needs %" PRIu64
					 " bytes, but the file ends after %" PRIu64
					 ": it is incomplete",
					 t->name, t->size, gguf->size - t->offset);
		if (t->size && t->offset < end)
			gguf->overlap = true;
		if (t->offset + t->size > end)
			end = t->offset + t->size;
	}
	return 0;
}

int parse_tensors(struct parse *p)
{
	int rc;

	p->gguf->infos_offset = p->in.at;
	for (uint32_t i = 0; i < p->gguf->n_tensors; i++) {
		rc = parse_tensor(p, i);
		if (rc < 0)
			return rc;
	}
	rc = place_data(p);
	if (rc < 0)
		return rc;
	sort_by_offset(p->gguf);
	size_by_offsets(p->gguf, p->header);
	return check_extents(p);
}
