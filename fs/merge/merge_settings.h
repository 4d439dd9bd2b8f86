/* SPDX-License-Identifier: MIT */
/* merge_settings.h - a configuration applied to one tensor: the sources and the rule of its merge
 * (measure/merge.h).
 *
 * The result's blocks are those of the slices, one after the other. Tensors before the blocks
 * belong to the first slice, those behind them to the last one. A parameter of the model overrides
 * that of the slice, which overrides that for all models; a parameter none of whose filters is part
 * of the tensor's name is skipped. At block k of the n blocks of a slice, a gradient of m values is
 * interpolated linearly at k / (n - 1) * (m - 1). The last value applies if n is 1, the first value
 * to tensors outside the blocks. */
#ifndef FS_MERGE_MERGE_SETTINGS_H
#define FS_MERGE_MERGE_SETTINGS_H

#include "measure/merge.h"

struct error;
struct merge_config;

/* Long enough for the names of tensors on Hugging Face. */
#define MERGE_NAME_MAX 256

/* Place of a tensor in the result. */
struct merge_place {
	size_t slice;
	uint64_t block, blocks; /* of the slice; blocks 0: outside the blocks */
};

enum merge_outside { MERGE_BEFORE_BLOCKS, MERGE_BEHIND_BLOCKS };

struct merge_place merge_place_outside(const struct merge_config *config,
				       enum merge_outside outside);

/* Number of blocks of the result of models with model_blocks blocks. */
uint64_t merge_blocks(const struct merge_config *config, uint64_t model_blocks);

/* Number of the result's blocks that one slice makes. */
uint64_t merge_slice_blocks(const struct merge_config *config, size_t slice, uint64_t model_blocks);

/* The block of a source that is merged at this place. */
uint64_t merge_source_block(const struct merge_config *config, const struct merge_place *place,
			    size_t source);

/* Value of a gradient of n >= 1 numbers at one of a number of blocks: the first number if blocks is
 * 0, the last one beyond the last block. */
double merge_gradient(const double *numbers, size_t n, uint64_t block, uint64_t blocks);

/* The Hugging Face name of a GGUF tensor of a llama-like model. Returns false, with other empty, if
 * it is unknown. */
bool merge_other_name(const char *name, char other[MERGE_NAME_MAX]);

/* Find the rule for a tensor, and for each of its inputs the index in the slice's sources, or
 * MERGE_CONFIG_NO_SOURCE for a base model that is no source. The name is the GGUF name in the
 * result; a tensor of one axis has one row. Returns 0, or -EINVAL with err set if a model has no
 * weight for this tensor, or slerp no t. */
int merge_settings(const struct merge_config *config, const struct merge_place *place,
		   const char *name, uint64_t rows, uint64_t columns, struct merge_rule *rule,
		   size_t sources[MERGE_INPUTS_MAX], struct error *err);

#endif
