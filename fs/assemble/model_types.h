/* SPDX-License-Identifier: MIT */
/* model_types.h - the types of ggml that a model's matrices have, and general.file_type, which
 * follows the type of most of them. The matrices are the tensors that llama-quantize quantises,
 * without the embedding and the head (gguf/file_type.h). */
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
	uint32_t of_base; /* the same of the base */
};

struct model_types model_types_find(const struct model *model, const struct snapshot *snapshot);

/* Add the value of general.file_type to those that follow the tensors, if the base has the key, no
 * user has edited it, and most matrices have one type, which is not the base's. follow->values has
 * room for each entry of the base, or is NULL. Returns 0 or -ENOMEM. */
int model_types_follow(const struct model *model, const struct snapshot *snapshot,
		       struct layout_values *follow);

#endif
