/* SPDX-License-Identifier: MIT */
/* npy_edit.c - see npy_edit.h. */
#include "fs/edit/npy_edit.h"
#include "fs/edit/graft.h"
#include "fs/edit/stage.h"
#include "fs/layer/layer.h"
#include "fs/model/model.h"
#include "fs/model/organ_file.h"
#include "fs/model/slots.h"
#include "fs/storage/view.h"
#include "fs/tensor/codec.h"
#include "fs/tensor/npy.h"
#include "fs/tensor/npy_parse.h"
#include "fs/util/log.h"
#include "gguf/bytes.h"
#include "gguf/dequant.h"
#include "gguf/error.h"
#include "gguf/quant.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Values converted at a time; a multiple of each encodable type's block. */
#define PART ((size_t)1 << 18)

struct conversion {
	struct source from; /* the staged bytes */
	struct stage *to;
	struct npy_array array;
	struct organ organ; /* the resulting organ */
	uint8_t *bytes;	    /* buffers for PART values: as staged, */
	float *values;	    /* decoded, */
	uint8_t *encoded;
	struct error err;
};

static bool is_real(uint32_t type)
{
	return type == GGML_F64 || type == GGML_F32 || type == GGML_F16 || type == GGML_BF16;
}

static bool is_integer(uint32_t type)
{
	return type == GGML_I8 || type == GGML_I16 || type == GGML_I32 || type == GGML_I64;
}

/* Can values of that type fill the slot? Sets *type to the resulting organ's type. */
static bool find_type(const struct organ *slot, uint32_t values, uint32_t *type)
{
	*type = slot->type;
	if (values == slot->type)
		return true;
	if (slot->type != GGML_Q8_0 &&
	    slot->type != encode_type(slot->type, slot->ne[0], ENCODE_Q8_0))
		*type = GGML_F16;
	return is_real(values) && slot->type != GGML_F64 && !is_integer(slot->type);
}

/* Does the slot's own file have values of the same type in the same order? */
static bool is_mapped_alike(const struct npy_array *array, const struct organ *slot)
{
	return array->type == npy_values(slot->type) && !(array->fortran && slot->dims > 1);
}

static int check(struct conversion *c, const struct organ *slot)
{
	char shapes[2][NPY_SHAPE_TEXT], scratch[TYPE_NAME_MAX];

	if (c->array.dims != slot->dims || memcmp(c->array.ne, slot->ne, sizeof(slot->ne)) != 0)
		return error_set(&c->err, EINVAL, ERROR_NO_OFFSET,
				 "its shape is %s, and that of the slot %s",
				 npy_shape_text(c->array.ne, c->array.dims, shapes[0]),
				 npy_shape_text(slot->ne, slot->dims, shapes[1]));
	c->organ = *slot;
	if (!find_type(slot, c->array.type, &c->organ.type))
		return error_set(&c->err, EINVAL, ERROR_NO_OFFSET,
				 "its values are %s, which a slot of %s does not take",
				 npy_type_word(c->array.type), type_name(slot->type, scratch));
	if (type_size(c->organ.type, c->organ.ne, &c->organ.data_size) != TYPE_SIZE_OK)
		return error_set(&c->err, EINVAL, ERROR_NO_OFFSET, "the organ would be too large");
	/* A program that wrote a header alone then maps the file, and gets the slot's own bytes. */
	if (!c->array.has_values && !is_mapped_alike(&c->array, slot))
		return error_set(&c->err, EINVAL, ERROR_NO_OFFSET,
				 "the file has no values, and the slot can be mapped only as %s in "
				 "C order",
				 npy_type_word(npy_values(slot->type)));
	if (c->array.fortran && (slot->dims > 2 || slot->ne[0] > PART))
		return error_set(&c->err, EINVAL, ERROR_NO_OFFSET,
				 "its axes are in Fortran order: save numpy.ascontiguousarray() "
				 "of it");
	return 0;
}

/* Read whole rows, n values from number first on, of a matrix stored column by column. */
static int read_columns(struct conversion *c, uint64_t first, size_t n)
{
	const size_t bytes = type_find(c->array.type)->block_bytes, row = (size_t)c->array.ne[0];
	const uint64_t top = first / row;
	const size_t rows = n / row;
	uint8_t *column = malloc(rows * bytes);
	int rc = column ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < row; i++) {
		rc = c->from.read_at(c->from.context, column, rows * bytes,
				     c->array.offset + (i * c->array.ne[1] + top) * bytes);
		for (size_t k = 0; rc == 0 && k < rows; k++)
			memcpy(c->bytes + (k * row + i) * bytes, column + k * bytes, bytes);
	}
	free(column);
	return rc;
}

static int read_values(struct conversion *c, uint64_t first, size_t n)
{
	const size_t bytes = type_find(c->array.type)->block_bytes;

	if (c->array.fortran && c->array.dims == 2)
		return read_columns(c, first, n);
	return c->from.read_at(c->from.context, c->bytes, n * bytes,
			       c->array.offset + first * bytes);
}

/* Value as in the file: a finite float64 may be infinite as a float. */
static double value_at(const struct conversion *c, size_t i)
{
	uint64_t bits;
	double value;

	if (c->array.type != GGML_F64)
		return (double)c->values[i];
	bits = load_u64(c->bytes + i * sizeof(bits));
	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* Check that the type can hold each value. A Q8_0 block has one scale for 32 values. */
static int check_values(struct conversion *c, uint64_t first, size_t n)
{
	const float most = quant_max(c->organ.type);
	const bool is_block = c->organ.type == GGML_Q8_0;
	char scratch[TYPE_NAME_MAX];

	for (size_t i = 0; i < n; i++) {
		const double value = value_at(c, i);

		if (isfinite(value) ? fabsf(c->values[i]) > most : is_block)
			return error_set(&c->err, EINVAL, ERROR_NO_OFFSET,
					 "value number %" PRIu64 " is %g, which %s cannot hold",
					 first + i, value, type_name(c->organ.type, scratch));
	}
	return 0;
}

/* Convert n values from number first on, whole blocks of the resulting type. */
static int convert_part(struct conversion *c, uint64_t first, size_t n)
{
	const struct type_info *type = type_find(c->organ.type);
	const uint64_t block = first / type->block_elements;
	const uint64_t at = c->organ.header_size + block * type->block_bytes;
	const size_t size = n / type->block_elements * type->block_bytes;
	int rc = read_values(c, first, n);

	if (rc < 0)
		return rc;
	if (c->array.type == c->organ.type)
		return stage_write(c->to, c->bytes, size, at);
	dequant_blocks(c->array.type, c->bytes, n, c->values);
	rc = check_values(c, first, n);
	if (rc < 0)
		return rc;
	quant_row(c->organ.type, c->values, n, NULL, c->encoded);
	return stage_write(c->to, c->encoded, size, at);
}

static int convert_values(struct conversion *c)
{
	const uint64_t row = c->organ.ne[0], elements = c->array.elements;
	const size_t most = c->array.fortran && row ? PART / (size_t)row * (size_t)row : PART;
	int rc = 0;

	for (uint64_t first = 0; rc == 0 && first < elements; first += most)
		rc = convert_part(c, first,
				  elements - first < most ? (size_t)(elements - first) : most);
	return rc;
}

static int convert(struct conversion *c)
{
	uint8_t *header = malloc(c->organ.header_size);
	int rc = -ENOMEM;

	c->bytes = malloc(PART * sizeof(double));
	c->values = malloc(PART * sizeof(*c->values));
	c->encoded = malloc(PART * sizeof(float));
	if (header && c->bytes && c->values && c->encoded) {
		organ_write_header(&c->organ, header);
		rc = stage_write(c->to, header, c->organ.header_size, 0);
	}
	if (rc == 0)
		rc = convert_values(c);
	free(header);
	free(c->bytes);
	free(c->values);
	free(c->encoded);
	return rc;
}

static struct stage *new_stage(struct model *model, struct stage *like)
{
	const struct stage_shown shown = stage_shown(like);
	struct view *nothing = view_new(NULL, 0, NULL);
	struct stage *stage = nothing ? stage_new(model->layer, nothing) : NULL;

	view_unref(nothing);
	if (stage && shown.has_mtime)
		stage_set_mtime(stage, &shown.mtime);
	return stage;
}

/* Convert the values and fill the slot. *said: a refusal is logged already. */
static int put(struct conversion *c, struct model *model, uint32_t tensor,
	       const struct content *content, struct stage *stage, bool *said)
{
	const struct organ slot = organ_file_locate(model, tensor, content).organ;
	int rc = npy_parse(&c->from, &c->array, &c->err);

	if (rc == 0)
		rc = check(c, &slot);
	if (rc < 0 || !c->array.has_values)
		return rc;
	c->to = new_stage(model, stage);
	rc = c->to ? convert(c) : -ENOMEM;
	*said = rc == 0;
	if (rc == 0)
		rc = graft_fill(model, tensor, c->to);
	stage_free(c->to);
	return rc;
}

int npy_edit_put(struct model *model, uint32_t tensor, struct stage *stage)
{
	struct content *content = slots_get_own(model->slots, tensor);
	struct conversion c = { 0 };
	char path[ORGAN_PATH_MAX], text[LAYER_WHY];
	bool said = false;
	int rc = stage_commit_begin(stage, &c.from);

	if (rc == 0)
		rc = content_is_whiteout(content) ? -ESTALE
						  : put(&c, model, tensor, content, stage, &said);
	content_unref(content);
	if (rc < 0 && !said)
		log_add(model->log, "%s: NumPy file refused: %s; the slot keeps its content",
			model_organ_path(model, tensor, path),
			layer_why(model->layer, &c.err, rc, text));
	return stage_commit_keep(stage, rc);
}
