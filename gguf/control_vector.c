/* SPDX-License-Identifier: MIT */
/* control_vector.c - see control_vector.h. */
#include "control_vector.h"
#include "anatomy.h"
#include "cursor.h"
#include "dequant.h"
#include "error.h"
#include "organ.h"
#include "pair.h"
#include "reader.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define PREFIX "direction."

/* Tensors of a block that write to the residual stream, without ".weight" or ".bias". */
static const struct {
	const char *part;
	bool by_row;
} writers[] = {
	{ "attn_output.weight", false },    { "attn_output.bias", true },
	{ "ffn_down.weight", false },	    { "ffn_down.bias", true },
	{ "ffn_down_exps.weight", false },  { "ffn_down_exps.bias", true },
	{ "ffn_down_shexp.weight", false }, { "ssm_out.weight", false },
};

/* direction.N, with N in plain decimal form. */
static bool is_direction(const struct gguf_tensor *tensor)
{
	const size_t n = strlen(PREFIX);
	const char *number;

	if (tensor->name_length <= n || memcmp(tensor->name, PREFIX, n) != 0)
		return false;
	number = tensor->name + n;
	return strspn(number, "0123456789") == tensor->name_length - n &&
	       (number[0] != '0' || number[1] == '\0');
}

bool control_vector_is(const struct gguf *gguf)
{
	return gguf->n_tensors && is_direction(&gguf->tensors[0]);
}

static int check_shape(const struct gguf_tensor *tensor, const struct gguf_tensor *first,
		       struct error *err)
{
	const uint64_t rows = tensor->ne[1];

	if (!is_direction(tensor) || tensor->type != GGML_F32 || rows == 0 ||
	    rows > CONTROL_VECTOR_ROWS_MAX || tensor->ne[2] != 1 || tensor->ne[3] != 1)
		return error_set(err, EINVAL, tensor->info,
				 "%.100s is no direction.N of type F32 with one to %u rows",
				 tensor->name, CONTROL_VECTOR_ROWS_MAX);
	if (tensor->ne[0] > CONTROL_VECTOR_VALUES_MAX / rows)
		return error_set(err, EINVAL, tensor->info,
				 "%.100s has more than %" PRIu64 " values", tensor->name,
				 CONTROL_VECTOR_VALUES_MAX);
	if (tensor->ne[0] != first->ne[0])
		return error_set(err, EINVAL, tensor->info,
				 "%.100s has rows of %" PRIu64 " values, and %.100s of %" PRIu64,
				 tensor->name, tensor->ne[0], first->name, first->ne[0]);
	return 0;
}

static int check_row(const struct gguf_tensor *tensor, const struct source *source, uint64_t row,
		     struct error *err)
{
	const uint64_t end = tensor->offset + (row + 1) * tensor->ne[0] * sizeof(float);
	uint64_t at = end - tensor->ne[0] * sizeof(float);
	float values[1024];
	uint8_t bytes[sizeof(values)];
	bool zeros = true;

	while (at < end) {
		const size_t n = end - at < sizeof(bytes) ? (size_t)(end - at) : sizeof(bytes);

		if (at + n > source->size || source->read_at(source->context, bytes, n, at) < 0)
			return error_set(err, EIO, at, "%.100s cannot be read", tensor->name);
		dequant_blocks(GGML_F32, bytes, n / sizeof(float), values);
		for (size_t i = 0; i < n / sizeof(float); i++) {
			if (!isfinite(values[i]))
				return error_set(err, EINVAL, at + i * sizeof(float),
						 "%.100s has a value that is not finite",
						 tensor->name);
			zeros &= values[i] == 0.0f;
		}
		at += n;
	}
	return zeros ? error_set(err, EINVAL, tensor->offset,
				 "%.100s has a row of zeros, which is no direction", tensor->name)
		     : 0;
}

int control_vector_check(const struct gguf *vector, const struct source *source, struct error *err)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < vector->n_tensors; i++)
		rc = check_shape(&vector->tensors[i], &vector->tensors[0], err);
	for (uint32_t i = 0; rc == 0 && i < vector->n_tensors; i++)
		for (uint64_t row = 0; rc == 0 && row < vector->tensors[i].ne[1]; row++)
			rc = check_row(&vector->tensors[i], source, row, err);
	return rc;
}

/* Number of the direction for a tensor; -1: none. */
static int32_t direction_of(const char *name, size_t length, bool *by_row)
{
	static const char embedding[] = "token_embd.weight";
	const size_t n = strlen("blk.");
	const char *part;

	*by_row = true;
	if (length == strlen(embedding) && memcmp(name, embedding, length) == 0)
		return 0;
	if (anatomy_block_kind(name, length) != 0)
		return -1;
	part = (const char *)memchr(name + n, '.', length - n) + 1;
	for (size_t i = 0; i < sizeof(writers) / sizeof(writers[0]); i++) {
		const size_t size = strlen(writers[i].part);

		*by_row = writers[i].by_row;
		if ((size_t)(name + length - part) == size &&
		    memcmp(writers[i].part, part, size) == 0)
			return anatomy_block(name, length);
	}
	return -1;
}

const struct gguf_tensor *control_vector_direction(const struct gguf *vector, const char *name,
						   size_t length, bool *by_row)
{
	const int32_t number = direction_of(name, length, by_row);
	char direction[32];
	const int n = snprintf(direction, sizeof(direction), PREFIX "%" PRId32, number);

	return number < 0 ? NULL : gguf_tensor(vector, direction, (size_t)n);
}

int control_vector_fits(const struct gguf_tensor *direction, const struct organ *organ, bool by_row,
			struct error *err)
{
	const uint64_t channels = organ->ne[by_row ? 0 : 1];
	const int rc = pair_fits(organ, NULL, NULL, err);

	if (rc < 0)
		return rc;
	if (direction->ne[0] != channels)
		return error_set(err, EINVAL, ERROR_NO_OFFSET,
				 "%.100s has rows of %" PRIu64 " values, and %.*s writes %" PRIu64
				 ": it is for another model",
				 direction->name, direction->ne[0],
				 (int)(organ->name_length < 100 ? organ->name_length : 100),
				 organ->name, channels);
	if (organ->ne[0] > CONTROL_VECTOR_VALUES_MAX / direction->ne[1])
		return error_set(err, EINVAL, ERROR_NO_OFFSET,
				 "%.100s has %" PRIu64 " rows, too many for a tensor's rows of "
				 "%" PRIu64 " values",
				 direction->name, direction->ne[1], organ->ne[0]);
	return 0;
}
