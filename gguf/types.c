/* SPDX-License-Identifier: MIT */
/* types.c - see types.h. */
#include "types.h"
#include "bytes.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#define IK    "ik_llama.cpp"
#define PRISM "PrismML's llama.cpp"

static const struct type_info type_table[] = {
	[GGML_F32] = { "F32", 1, 4, 0, NULL },
	[GGML_F16] = { "F16", 1, 2, 0, NULL },
	[GGML_Q4_0] = { "Q4_0", 32, 18, 0, NULL },
	[GGML_Q4_1] = { "Q4_1", 32, 20, 0, NULL },
	[GGML_Q5_0] = { "Q5_0", 32, 22, 0, NULL },
	[GGML_Q5_1] = { "Q5_1", 32, 24, 0, NULL },
	[GGML_Q8_0] = { "Q8_0", 32, 34, 0, NULL },
	[GGML_Q8_1] = { "Q8_1", 32, 36, 0, NULL },
	[GGML_Q2_K] = { "Q2_K", 256, 84, 0, NULL },
	[GGML_Q3_K] = { "Q3_K", 256, 110, 0, NULL },
	[GGML_Q4_K] = { "Q4_K", 256, 144, 0, NULL },
	[GGML_Q5_K] = { "Q5_K", 256, 176, 0, NULL },
	[GGML_Q6_K] = { "Q6_K", 256, 210, 0, NULL },
	[GGML_Q8_K] = { "Q8_K", 256, 292, 0, NULL },
	[GGML_IQ2_XXS] = { "IQ2_XXS", 256, 66, 0, NULL },
	[GGML_IQ2_XS] = { "IQ2_XS", 256, 74, 0, NULL },
	[GGML_IQ3_XXS] = { "IQ3_XXS", 256, 98, 0, NULL },
	[GGML_IQ1_S] = { "IQ1_S", 256, 50, 0, NULL },
	[GGML_IQ4_NL] = { "IQ4_NL", 32, 18, 0, NULL },
	[GGML_IQ3_S] = { "IQ3_S", 256, 110, 0, NULL },
	[GGML_IQ2_S] = { "IQ2_S", 256, 82, 0, NULL },
	[GGML_IQ4_XS] = { "IQ4_XS", 256, 136, 0, NULL },
	[GGML_I8] = { "I8", 1, 1, 0, NULL },
	[GGML_I16] = { "I16", 1, 2, 0, NULL },
	[GGML_I32] = { "I32", 1, 4, 0, NULL },
	[GGML_I64] = { "I64", 1, 8, 0, NULL },
	[GGML_F64] = { "F64", 1, 8, 0, NULL },
	[GGML_IQ1_M] = { "IQ1_M", 256, 56, 0, NULL },
	[GGML_BF16] = { "BF16", 1, 2, 0, NULL },
	[GGML_TQ1_0] = { "TQ1_0", 256, 54, 0, NULL },
	[GGML_TQ2_0] = { "TQ2_0", 256, 66, 0, NULL },
	[GGML_MXFP4] = { "MXFP4", 32, 17, 0, NULL },
	[GGML_NVFP4] = { "NVFP4", 64, 36, 0, NULL },
	[GGML_Q1_0] = { "Q1_0", 128, 18, 0, NULL },
	[GGML_Q2_0] = { "Q2_0", 64, 18, 0, NULL },
	[133] = { "Q6_0", 32, 26, 0, IK },
	[134] = { "IQ1_BN", 64, 13, 2, IK },
	[135] = { "IQ2_BN", 64, 16, 4, IK },
	[136] = { "Q8_K64", 64, 68, 0, IK },
	[137] = { "IQ2_K", 256, 76, 0, IK },
	[138] = { "IQ3_K", 256, 110, 0, IK },
	[139] = { "IQ4_K", 256, 144, 0, IK },
	[140] = { "IQ5_K", 256, 176, 0, IK },
	[141] = { "IQ6_K", 256, 212, 0, IK },
	[142] = { "PQ2_0", 128, 34, 0, PRISM },
	[143] = { "PTQ1_0", 128, 28, 0, PRISM },
	[144] = { "IQ4_KS", 256, 136, 4, IK },
	[145] = { "IQ2_KS", 256, 70, 2, IK },
	[146] = { "IQ4_KSS", 256, 128, 4, IK },
	[147] = { "Q8_K16", 64, 64, 20, IK },
	[148] = { "Q8_K32", 256, 296, 0, IK },
	[149] = { "Q8_KR8", 256, 296, 0, IK },
	[150] = { "Q8_K128", 128, 140, 0, IK },
	[151] = { "Q8_KV", 32, 32, 8, IK },
	[152] = { "IQ5_KS", 256, 168, 4, IK },
	[153] = { "IQ2_KT", 256, 68, 4, IK },
	[154] = { "IQ3_KT", 256, 100, 4, IK },
	[155] = { "IQ4_KT", 256, 128, 4, IK },
	[156] = { "IQ3_KS", 256, 102, 2, IK },
	[157] = { "IQ2_KL", 256, 86, 2, IK },
	[158] = { "IQ1_KT", 256, 56, 4, IK },
	[202] = { "Q4_0_R8", 32, 18, 0, IK },
	[206] = { "Q5_0_R4", 32, 22, 0, IK },
	[208] = { "Q8_0_R8", 32, 34, 0, IK },
	[210] = { "Q2_K_R4", 256, 84, 0, IK },
	[211] = { "Q3_K_R4", 256, 110, 0, IK },
	[212] = { "Q4_K_R4", 256, 144, 0, IK },
	[213] = { "Q5_K_R4", 256, 176, 0, IK },
	[214] = { "Q6_K_R4", 256, 210, 0, IK },
	[216] = { "IQ2_XXS_R4", 256, 66, 0, IK },
	[217] = { "IQ2_XS_R4", 256, 74, 0, IK },
	[218] = { "IQ3_XXS_R4", 256, 98, 0, IK },
	[219] = { "IQ1_S_R4", 32, 6, 2, IK },
	[220] = { "IQ4_NL_R4", 32, 18, 0, IK },
	[221] = { "IQ3_S_R4", 256, 110, 0, IK },
	[222] = { "IQ2_S_R4", 256, 82, 0, IK },
	[223] = { "IQ4_XS_R8", 256, 136, 0, IK },
	[229] = { "IQ1_M_R4", 32, 7, 2, IK },
	[230] = { "BF16_R16", 1, 2, 0, IK },
	[233] = { "Q6_0_R4", 32, 26, 0, IK },
	[335] = { "IQ2_BN_R4", 64, 16, 4, IK },
	[337] = { "IQ2_K_R4", 256, 76, 0, IK },
	[338] = { "IQ3_K_R4", 256, 110, 0, IK },
	[339] = { "IQ4_K_R4", 256, 144, 0, IK },
	[340] = { "IQ5_K_R4", 256, 176, 0, IK },
	[344] = { "IQ4_KS_R4", 256, 136, 4, IK },
	[352] = { "IQ5_KS_R4", 256, 168, 4, IK },
	[353] = { "MXFP4_R8", 32, 17, 0, IK },
	[397] = { "Q8_K_R16", 256, 258, 0, IK },
	[398] = { "Q8_KV_R8", 32, 32, 4, IK },
	[399] = { "Q8_K_R8", 256, 258, 0, IK },
};

static_assert(sizeof(type_table) / sizeof(type_table[0]) == TYPE_IDS, "the last id has a row");

const struct type_info *type_find(uint32_t id)
{
	if (id >= TYPE_IDS || !type_table[id].name)
		return NULL;
	return &type_table[id];
}

const char *type_name(uint32_t id, char scratch[TYPE_NAME_MAX])
{
	const struct type_info *type = type_find(type_id(id));

	if (type)
		return type->name;
	snprintf(scratch, TYPE_NAME_MAX, "type-%" PRIu32, id);
	return scratch;
}

bool type_by_name(const char *name, size_t n, uint32_t *id)
{
	for (*id = 0; *id < GGML_TYPES; ++*id) {
		const struct type_info *type = type_find(*id);

		if (type && strlen(type->name) == n && strncasecmp(type->name, name, n) == 0)
			return true;
	}
	return false;
}

bool shape_elements(const uint64_t ne[GGML_AXES], uint64_t *elements)
{
	uint64_t n = 1;
	bool empty = false;

	/* The other axes of an empty tensor have to be plausible, too. */
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
	uint64_t elements, headers;

	if (!type)
		return TYPE_SIZE_UNKNOWN;
	if (!shape_elements(ne, &elements))
		return TYPE_SIZE_OVERFLOW;
	if (ne[0] % type->block_elements)
		return TYPE_SIZE_ROW;
	if (!mul_u64(elements / type->block_elements, type->block_bytes, bytes) ||
	    !mul_u64(elements ? elements / ne[0] : 0, type->row_bytes, &headers) ||
	    !add_u64(*bytes, headers, bytes) || *bytes > INT64_MAX)
		return TYPE_SIZE_OVERFLOW;
	return TYPE_SIZE_OK;
}
