/* SPDX-License-Identifier: MIT */
/* check_merge.h - the checks of a merge of models (merge_force.h). A merge in force has fitting
 * architectures, names and shapes. */
#ifndef FS_CHECK_CHECK_MERGE_H
#define FS_CHECK_CHECK_MERGE_H

struct finding;
struct halt;
struct merge_state;
struct model;

/* Describe the merge; impossible if its models cannot be read. */
void check_merge_models(const struct merge_state *state, struct finding *finding);

/* Check that all models have the base's tokenizer. */
void check_merge_tokenizer(const struct merge_state *state, struct finding *finding);

/* Check that all models have the base's origin (check_lineage.h): a mixture of tensors whose values
 * do not correspond is meaningless. Returns 0, -EINTR soon after halt, or -ENOMEM. */
int check_merge_lineage(const struct merge_state *state, const struct model *model,
			const struct halt *halt, struct finding *finding);

#endif
