/* SPDX-License-Identifier: MIT */
/* model_types.h - the ggml types of a model's matrices, and general.file_type, which follows the
 * most frequent one. The matrices are the tensors that llama-quantize quantises, without embedding
 * and head (gguf/file_type.h). */
#ifndef FS_ASSEMBLE_MODEL_TYPES_H
#define FS_ASSEMBLE_MODEL_TYPES_H

#include <stdbool.h>
#include <stdint.h>

struct layout_values;
struct model;
struct snapshot;

struct model_types {
	bool agree;	  /* more than half of the matrices have one type */
	uint32_t most;	  /* the most frequent type; UINT32_MAX: there is none */
	uint32_t of_base; /* the most frequent type in the base */
};

struct model_types model_types_find(const struct model *model, const struct snapshot *snapshot);

/* Add the value of general.file_type to follow, if the base has the key, no user has edited it, and
 * most matrices have one type that is not the base's. follow->values has room for it. Returns 0 or
 * -ENOMEM. */
int model_types_follow(const struct model *model, const struct snapshot *snapshot,
		       struct layout_values *follow);

#endif
