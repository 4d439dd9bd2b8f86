/* SPDX-License-Identifier: MIT */
/* organ.c - see organ.h. */
#include "organ.h"
#include "bytes.h"
#include "cursor.h"
#include "error.h"
#include "reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t header_size(uint32_t name_length, uint32_t dims)
{
	return 4 + (uint64_t)name_length + 4 + 8 * (uint64_t)dims + 4;
}

struct organ organ_of_tensor(const struct gguf_tensor *tensor)
{
	struct organ organ = { .name = tensor->name,
			       .name_length = tensor->name_length,
			       .dims = tensor->dims,
			       .type = tensor->type,
			       .header_size = header_size(tensor->name_length, tensor->dims),
			       .data_size = tensor->size };

	memcpy(organ.ne, tensor->ne, sizeof(organ.ne));
	return organ;
}

/* Compute the sizes of an organ whose shape is not a tensor's. */
static bool set_sizes(struct organ *organ)
{
	organ->header_size = header_size(organ->name_length, organ->dims);
	return type_size(organ->type, organ->ne, &organ->data_size) == TYPE_SIZE_OK;
}

bool organ_slice(const struct organ *stack, struct organ *slice)
{
	*slice = *stack;
	if (stack->dims == 0 || stack->ne[stack->dims - 1] == 0)
		return false;
	slice->ne[stack->dims - 1] = 1;
	if (stack->dims > 1)
		slice->dims--;
	return set_sizes(slice);
}

bool organ_of_slices(const struct organ *stack, uint64_t count, struct organ *organ)
{
	*organ = *stack;
	if (stack->dims == 0 || count == 0)
		return false;
	organ->ne[stack->dims - 1] = count;
	return set_sizes(organ);
}

void organ_write_header(const struct organ *organ, uint8_t *bytes)
{
	bytes = store_u32(bytes, organ->name_length);
	bytes = store_bytes(bytes, organ->name, organ->name_length);
	bytes = store_u32(bytes, organ->dims);
	for (uint32_t i = 0; i < organ->dims; i++)
		bytes = store_u64(bytes, organ->ne[i]);
	store_u32(bytes, type_id(organ->type));
}

static int parse_fields(struct cursor *in, struct organ *organ, struct error *err)
{
	const uint8_t *name;
	uint64_t start = in->at;
	int rc = cursor_u32(in, &organ->name_length);

	if (rc == 0 &&
	    (organ->name_length > CURSOR_TAKE_MAX || organ->name_length > cursor_left(in)))
		return error_set(err, EBADMSG, start,
				 "not an organ file: its name would be %" PRIu32 " bytes long",
				 organ->name_length);
	if (rc == 0)
		rc = cursor_take(in, organ->name_length, &name);
	if (rc == 0) {
		char *copy = calloc(1, organ->name_length + 1u);

		if (!copy)
			return error_errno(err, ENOMEM);
		memcpy(copy, name, organ->name_length);
		organ->name = copy;
	}
	start = in->at;
	if (rc == 0)
		rc = cursor_u32(in, &organ->dims);
	if (rc == 0 && organ->dims > GGML_AXES)
		return error_set(err, EBADMSG, start,
				 "not an organ file: its tensor would have %" PRIu32 " axes",
				 organ->dims);
	for (uint32_t i = 0; rc == 0 && i < organ->dims; i++)
		rc = cursor_u64(in, &organ->ne[i]);
	if (rc == 0)
		rc = cursor_u32(in, &organ->type);
	if (rc == -EBADMSG)
		return error_set(err, EBADMSG, in->at,
				 "the file ends inside the header of an organ");
	if (rc == -ENOMEM)
		return error_errno(err, ENOMEM);
	return rc < 0 ? error_set(err, -rc, in->at, "the file cannot be read: %s", strerror(-rc))
		      : 0;
}

static int check_size(struct organ *organ, uint64_t file_size, struct error *err)
{
	char scratch[TYPE_NAME_MAX], shape[SHAPE_TEXT_MAX];
	const uint64_t data = file_size - organ->header_size;
	enum type_size_result result = type_size(organ->type, organ->ne, &organ->data_size);
	uint64_t elements;

	if (type_is_short(organ->type))
		return error_set(err, EBADMSG, organ->header_size - 4,
				 "the type %" PRIu32 " is not used by any format", organ->type);
	shape_text(organ->ne, organ->dims, shape);
	if (result == TYPE_SIZE_UNKNOWN && !shape_elements(organ->ne, &elements))
		result = TYPE_SIZE_OVERFLOW;
	switch (result) {
	case TYPE_SIZE_ROW:
		return error_set(err, EBADMSG, organ->header_size - 4,
				 "rows of %" PRIu64 " elements are no multiple of a block of %s",
				 organ->ne[0], type_name(organ->type, scratch));
	case TYPE_SIZE_OVERFLOW:
		return error_set(err, EBADMSG, 8 + (uint64_t)organ->name_length,
				 "a shape of %s has more elements than a file can hold", shape);
	case TYPE_SIZE_UNKNOWN:
		organ->data_size = data;
		return 0;
	case TYPE_SIZE_OK:
		break;
	}
	if (organ->data_size == data)
		return 0;
	return error_set(err, EBADMSG,
			 data < organ->data_size ? file_size
						 : organ->header_size + organ->data_size,
			 "%s of shape %s has %" PRIu64 " bytes of data, but the file has %" PRIu64,
			 type_name(organ->type, scratch), shape, organ->data_size, data);
}

/* Reason to refuse a file of a format that users copy into slots, since the header's checks would
 * complain of a name. NULL: another format. */
static const char *explain_foreign(const struct source *source)
{
	static const struct {
		const char *magic, *text;
	} foreign[] = {
		{ "\x93NUMPY", "a NumPy file, not an organ: copy it to .views/npy" },
		{ "GGUF", "a GGUF file, not an organ: mount it and copy its organs" },
	};
	char bytes[6];

	if (source->size < sizeof(bytes) ||
	    source->read_at(source->context, bytes, sizeof(bytes), 0) != 0)
		return NULL;
	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
		if (memcmp(bytes, foreign[i].magic, strlen(foreign[i].magic)) == 0)
			return foreign[i].text;
	return NULL;
}

int organ_parse(const struct source *source, struct organ *organ, struct error *err)
{
	const char *foreign;
	struct cursor in;
	int rc;

	*organ = (struct organ){ .ne = { 1, 1, 1, 1 } };
	rc = cursor_init_short(&in, source, 0);
	if (rc < 0)
		return error_set(err, -rc, ERROR_NO_OFFSET, "out of memory");
	rc = parse_fields(&in, organ, err);
	if (rc == 0) {
		organ->header_size = in.at;
		rc = check_size(organ, source->size, err);
	}
	cursor_release(&in);
	if (rc < 0) {
		free((char *)organ->name);
		organ->name = NULL;
	}
	foreign = rc == -EBADMSG ? explain_foreign(source) : NULL;
	if (foreign)
		error_set(err, EBADMSG, ERROR_NO_OFFSET, "%s", foreign);
	return rc;
}

const char *organ_short_text(const struct organ *organ, char out[ORGAN_SHORT_MAX])
{
	char shape[SHAPE_TEXT_MAX], scratch[TYPE_NAME_MAX];
	uint64_t needed = 0;

	type_size(type_id(organ->type), organ->ne, &needed);
	snprintf(out, ORGAN_SHORT_MAX,
		 "its file has %" PRIu64 " bytes for it, and %s of shape %s needs %" PRIu64,
		 organ->data_size, type_name(organ->type, scratch),
		 shape_text(organ->ne, organ->dims, shape), needed);
	return out;
}

int organ_check_whole(const struct organ *organ, const char *which, struct error *err)
{
	char text[ORGAN_SHORT_MAX];

	if (!type_is_short(organ->type))
		return 0;
	return error_set(err, EINVAL, ERROR_NO_OFFSET, "%s is short: %s", which,
			 organ_short_text(organ, text));
}

int organ_fits(const struct organ *organ, const struct gguf_tensor *slot, bool any_shape,
	       struct error *err)
{
	char has[SHAPE_TEXT_MAX], wants[SHAPE_TEXT_MAX], scratch[TYPE_NAME_MAX];
	char slot_scratch[TYPE_NAME_MAX];
	const bool known = type_find(organ->type) && type_find(slot->type);
	const struct organ held = organ_of_tensor(slot);

	if (organ_check_whole(organ, "the organ", err) < 0 ||
	    organ_check_whole(&held, "the slot", err) < 0)
		return -EINVAL;
	if (!any_shape && memcmp(organ->ne, slot->ne, sizeof(organ->ne)) != 0)
		return error_set(err, EINVAL, ERROR_NO_OFFSET,
				 "the organ's shape is %s, the slot's is %s",
				 shape_text(organ->ne, organ->dims, has),
				 shape_text(slot->ne, slot->dims, wants));
	/* For an unknown type the size can only be compared with the slot's. */
	if (!known && (organ->type != slot->type || organ->data_size != slot->size))
		return error_set(err, EINVAL, ERROR_NO_OFFSET,
				 "the organ is %" PRIu64 " bytes of type %s, the slot %" PRIu64
				 " bytes of %s, and not both types are known",
				 organ->data_size, type_name(organ->type, scratch), slot->size,
				 type_name(slot->type, slot_scratch));
	return 0;
}

const char *shape_text(const uint64_t ne[GGML_AXES], uint32_t dims, char out[SHAPE_TEXT_MAX])
{
	size_t n = 0;

	snprintf(out, SHAPE_TEXT_MAX, "1");
	for (uint32_t i = 0; i < dims && i < GGML_AXES; i++) {
		const int wrote =
			snprintf(out + n, SHAPE_TEXT_MAX - n, "%s%" PRIu64, i ? "x" : "", ne[i]);

		n += (size_t)wrote;
	}
	return out;
}
