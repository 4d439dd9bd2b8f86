/* SPDX-License-Identifier: MIT */
/* block_metadata.h - metadata that says how many blocks there are, and what each of them is like,
 * follows the blocks that are there: ARCH.block_count, and every array of ARCH.* that has an entry
 * a block. llama.cpp does not load a model where they disagree. ARCH.nextn_predict_layers follows
 * the blocks with tensors for multi-token prediction, also where the base has no such key.
 * general.file_type follows the types of the matrices (model_types.h). */
#ifndef FS_ASSEMBLE_BLOCK_METADATA_H
#define FS_ASSEMBLE_BLOCK_METADATA_H

struct error;
struct layout_values;
struct model;
struct snapshot;

/* Find the values to replace, for layout_build(), with the slots of that snapshot: none where the
 * base's blocks are there as they were, or do not agree with its metadata themselves. A block that
 * was moved or added whole has the entries of the block that it was. Keys that were edited are left
 * alone. Release with block_metadata_release() either way. Returns 0, or -errno with err set:
 * EINVAL with the numbers of missing blocks where they do not run from 0 without a gap, EIO,
 * ENOMEM. */
int block_metadata_find(struct model *model, const struct snapshot *snapshot,
			struct layout_values *follow, struct error *err);
void block_metadata_release(struct layout_values *follow);

/* What the files of the mount say of the metadata (METADATA_DEFAULT) is of the blocks as they are
 * now, where it is to follow them. Where blocks are missing it is as in the base. */
void block_metadata_show(struct model *model);

#endif
