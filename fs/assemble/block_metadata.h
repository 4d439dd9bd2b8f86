/* SPDX-License-Identifier: MIT */
/* block_metadata.h - metadata that follows the blocks: ARCH.block_count, and every array of ARCH.*
 * with an entry for each block. llama.cpp refuses a model in which they disagree.
 * ARCH.nextn_predict_layers follows the blocks with tensors for multi-token prediction, even if the
 * base has no such key. general.file_type follows the types of the matrices (model_types.h). None
 * of these follows if -o blocks=keep is set. tokenizer.chat_template is the template of the merge
 * in force, if the merge has one. */
#ifndef FS_ASSEMBLE_BLOCK_METADATA_H
#define FS_ASSEMBLE_BLOCK_METADATA_H

struct error;
struct layout_values;
struct model;
struct snapshot;

/* Find the values to replace, for layout_build(), at the snapshot: none if the blocks are the
 * base's, or if the base disagrees with its own metadata. A block that was moved or added whole has
 * the entries of its original block. Edited keys are left alone. Release with
 * block_metadata_release() either way. Returns 0, or -errno with err set: EINVAL with the numbers
 * of missing blocks if there is a gap, and the values are then those that do not depend on blocks;
 * EIO, ENOMEM. */
int block_metadata_find(struct model *model, const struct snapshot *snapshot,
			struct layout_values *follow, struct error *err);
void block_metadata_release(struct layout_values *follow);

/* Update the default metadata that the mount's files show (METADATA_DEFAULT) to the current blocks,
 * if it is to follow them. With missing blocks it is the base's. */
void block_metadata_show(struct model *model);

#endif
