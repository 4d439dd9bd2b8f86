/* SPDX-License-Identifier: MIT */
/* types.c - see types.h. */
#include "types.h"
#include "bytes.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

static const struct type_info type_table[] = {
	[GGML_F32] = { "F32", 1, 4 },
	[GGML_F16] = { "F16", 1, 2 },
	[GGML_Q4_0] = { "Q4_0", 32, 18 },
	[GGML_Q4_1] = { "Q4_1", 32, 20 },
	[GGML_Q5_0] = { "Q5_0", 32, 22 },
	[GGML_Q5_1] = { "Q5_1", 32, 24 },
	[GGML_Q8_0] = { "Q8_0", 32, 34 },
	[GGML_Q8_1] = { "Q8_1", 32, 36 },
	[GGML_Q2_K] = { "Q2_K", 256, 84 },
	[GGML_Q3_K] = { "Q3_K", 256, 110 },
	[GGML_Q4_K] = { "Q4_K", 256, 144 },
	[GGML_Q5_K] = { "Q5_K", 256, 176 },
	[GGML_Q6_K] = { "Q6_K", 256, 210 },
	[GGML_Q8_K] = { "Q8_K", 256, 292 },
	[GGML_IQ2_XXS] = { "IQ2_XXS", 256, 66 },
	[GGML_IQ2_XS] = { "IQ2_XS", 256, 74 },
	[GGML_IQ3_XXS] = { "IQ3_XXS", 256, 98 },
	[GGML_IQ1_S] = { "IQ1_S", 256, 50 },
	[GGML_IQ4_NL] = { "IQ4_NL", 32, 18 },
	[GGML_IQ3_S] = { "IQ3_S", 256, 110 },
	[GGML_IQ2_S] = { "IQ2_S", 256, 82 },
	[GGML_IQ4_XS] = { "IQ4_XS", 256, 136 },
	[GGML_I8] = { "I8", 1, 1 },
	[GGML_I16] = { "I16", 1, 2 },
	[GGML_I32] = { "I32", 1, 4 },
	[GGML_I64] = { "I64", 1, 8 },
	[GGML_F64] = { "F64", 1, 8 },
	[GGML_IQ1_M] = { "IQ1_M", 256, 56 },
	[GGML_BF16] = { "BF16", 1, 2 },
	[GGML_TQ1_0] = { "TQ1_0", 256, 54 },
	[GGML_TQ2_0] = { "TQ2_0", 256, 66 },
	[GGML_MXFP4] = { "MXFP4", 32, 17 },
	[GGML_NVFP4] = { "NVFP4", 64, 36 },
	[GGML_Q1_0] = { "Q1_0", 128, 18 },
	[GGML_Q2_0] = { "Q2_0", 64, 18 },
};

static_assert(sizeof(type_table) / sizeof(type_table[0]) == GGML_TYPES, "one row a type id");

const struct type_info *type_find(uint32_t id)
{
	if (id >= GGML_TYPES || !type_table[id].name)
		return NULL;
	return &type_table[id];
}

const char *type_name(uint32_t id, char scratch[TYPE_NAME_MAX])
{
	const struct type_info *type = type_find(id);

	if (type)
		return type->name;
	snprintf(scratch, TYPE_NAME_MAX, "type-%" PRIu32, id);
	return scratch;
}

bool shape_elements(const uint64_t ne[GGML_AXES], uint64_t *elements)
{
	uint64_t n = 1;
	bool empty = false;

	/* The other axes of an empty tensor must be believable all the same. */
	for (int i = 0; i < GGML_AXES; i++) {
		if (ne[i] == 0)
			empty = true;
		else if (!mul_u64(n, ne[i], &n) || n > INT64_MAX)
			return false;
	}
	*elements = empty ? 0 : n;
	return true;
}

enum type_size_result type_size(uint32_t id, const uint64_t ne[GGML_AXES], uint64_t *bytes)
{
	const struct type_info *type = type_find(id);
	uint64_t elements;

	if (!type)
		return TYPE_SIZE_UNKNOWN;
	if (!shape_elements(ne, &elements))
		return TYPE_SIZE_OVERFLOW;
	if (ne[0] % type->block_elements)
		return TYPE_SIZE_ROW;
	if (!mul_u64(elements / type->block_elements, type->block_bytes, bytes) ||
	    *bytes > INT64_MAX)
		return TYPE_SIZE_OVERFLOW;
	return TYPE_SIZE_OK;
}
