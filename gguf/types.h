/* SPDX-License-Identifier: MIT */
/* types.h - the types of tensors: id, name, and the bytes of a block and of a row.
 * Sources of ids and sizes: the type traits (ggml.h, ggml-common.h) of ggml, GGML_TYPE_COUNT 43; of
 * ik_llama.cpp, ids 133 to 158 and 202 to 399; of PrismML's llama.cpp, ids 142 and 143. */
#ifndef GGUF_TYPES_H
#define GGUF_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ggml_type {
	GGML_F32 = 0,
	GGML_F16 = 1,
	GGML_Q4_0 = 2,
	GGML_Q4_1 = 3,
	GGML_Q5_0 = 6,
	GGML_Q5_1 = 7,
	GGML_Q8_0 = 8,
	GGML_Q8_1 = 9,
	GGML_Q2_K = 10,
	GGML_Q3_K = 11,
	GGML_Q4_K = 12,
	GGML_Q5_K = 13,
	GGML_Q6_K = 14,
	GGML_Q8_K = 15,
	GGML_IQ2_XXS = 16,
	GGML_IQ2_XS = 17,
	GGML_IQ3_XXS = 18,
	GGML_IQ1_S = 19,
	GGML_IQ4_NL = 20,
	GGML_IQ3_S = 21,
	GGML_IQ2_S = 22,
	GGML_IQ4_XS = 23,
	GGML_I8 = 24,
	GGML_I16 = 25,
	GGML_I32 = 26,
	GGML_I64 = 27,
	GGML_F64 = 28,
	GGML_IQ1_M = 29,
	GGML_BF16 = 30,
	GGML_TQ1_0 = 34,
	GGML_TQ2_0 = 35,
	GGML_MXFP4 = 39,
	GGML_NVFP4 = 40,
	GGML_Q1_0 = 41,
	GGML_Q2_0 = 42,
	GGML_TYPES = 43, /* ids of ggml itself are below */
	TYPE_IDS = 400,	 /* ids of forks that are known are below */
};

/* Most axes of a tensor (GGML_MAX_DIMS). */
#define GGML_AXES 4

struct type_info {
	const char *name;	 /* as ggml spells it, in capitals: "Q4_K" */
	uint32_t block_elements; /* elements of one block, along the first axis */
	uint32_t block_bytes;	 /* bytes of one block */
	uint32_t row_bytes;	 /* bytes of each row besides its blocks; 0 for all types of ggml */
	const char *fork;	 /* program that defines the type; NULL: ggml */
};

/* The type with this id, static. NULL: the id is retired, unknown, or of an unknown fork. */
const struct type_info *type_find(uint32_t id);

/* Marks the type of a short tensor, for which its file has fewer bytes than its type needs:
 * TYPE_SHORT plus the type's id. type_find() returns NULL for the sum, so that nothing computes
 * sizes or decodes data by the type. No file has such an id. */
#define TYPE_SHORT 0xffff0000u

static inline bool type_is_short(uint32_t type)
{
	return type >= TYPE_SHORT && type < TYPE_SHORT + TYPE_IDS;
}

/* The type's id as in a file. */
static inline uint32_t type_id(uint32_t type)
{
	return type_is_short(type) ? type - TYPE_SHORT : type;
}

/* The name of the type, also of a short tensor, or "type-ID", written to scratch, if unknown. */
#define TYPE_NAME_MAX 24
const char *type_name(uint32_t id, char scratch[TYPE_NAME_MAX]);

/* Find ggml's type with that name of n bytes, in upper or lower case. False: none. */
bool type_by_name(const char *name, size_t n, uint32_t *id);

/* The number of elements of a shape of four axes. False: more than 2^63 - 1. */
bool shape_elements(const uint64_t ne[GGML_AXES], uint64_t *elements);

enum type_size_result { TYPE_SIZE_OK, TYPE_SIZE_UNKNOWN, TYPE_SIZE_ROW, TYPE_SIZE_OVERFLOW };

/* The bytes a tensor of this type and shape takes: elements / block_elements * block_bytes, and
 * row_bytes for each row.
 * TYPE_SIZE_UNKNOWN: no such type. TYPE_SIZE_ROW: ne[0] is no multiple of the block.
 * TYPE_SIZE_OVERFLOW: elements or bytes exceed 2^63 - 1. */
enum type_size_result type_size(uint32_t id, const uint64_t ne[GGML_AXES], uint64_t *bytes);

#endif
