/* SPDX-License-Identifier: MIT */
/* merge_settings.h - what a configuration says about one tensor: the rule by which it is merged
 * (measure/merge.h), and of which sources.
 *
 * The result's blocks are those of the slices, one after the other. Tensors before the blocks
 * belong to the first slice, those behind them to the last one. A parameter is that of the model,
 * else the slice's, else the one of all; one that has no value for the tensor, since no filter is
 * part of its name, falls through to the next. At block k of the n of a slice, a gradient of m
 * values is taken at k / (n - 1) * (m - 1), between the two nearest; at the end if n is 1, and at
 * its beginning for tensors outside the blocks. */
#ifndef FS_MERGE_MERGE_SETTINGS_H
#define FS_MERGE_MERGE_SETTINGS_H

#include "measure/merge.h"

struct error;
struct merge_config;

/* Long enough for the names that Hugging Face gives to what GGUF has. */
#define MERGE_NAME_MAX 256

/* Where in the result a tensor stands. */
struct merge_place {
	size_t slice;
	uint64_t block, blocks; /* that many in the slice; 0: it is outside of them */
};

enum merge_outside { MERGE_BEFORE_BLOCKS, MERGE_BEHIND_BLOCKS };

struct merge_place merge_place_outside(const struct merge_config *config,
				       enum merge_outside outside);

/* Blocks of the result, of models with that many. */
uint64_t merge_blocks(const struct merge_config *config, uint64_t model_blocks);

/* Those of them that one slice of the configuration makes. */
uint64_t merge_slice_blocks(const struct merge_config *config, size_t slice, uint64_t model_blocks);

/* The block of a source that is merged there. */
uint64_t merge_source_block(const struct merge_config *config, const struct merge_place *place,
			    size_t source);

/* The value of a gradient of n numbers, at least one, at a block of so many; of 0 blocks at its
 * beginning, and behind the last block at its end. */
double merge_gradient(const double *numbers, size_t n, uint64_t block, uint64_t blocks);

/* What Hugging Face calls a tensor of that name in GGUF, of a model of llama's form. False: nothing
 * that is known, and other is empty. */
bool merge_other_name(const char *name, char other[MERGE_NAME_MAX]);

/* The rule for a tensor, and for each of its inputs the place among the slice's sources;
 * MERGE_CONFIG_NO_SOURCE stands for the base model, where that is not among them. The name is that
 * of the result, in GGUF; a tensor of one axis has one row. Returns 0, or -EINVAL with err set: a
 * model has no weight for this tensor, or slerp no t. */
int merge_settings(const struct merge_config *config, const struct merge_place *place,
		   const char *name, uint64_t rows, uint64_t columns, struct merge_rule *rule,
		   size_t sources[MERGE_INPUTS_MAX], struct error *err);

#endif
