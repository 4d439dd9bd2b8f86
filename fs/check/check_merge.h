/* SPDX-License-Identifier: MIT */
/* check_merge.h - the checks of a merge of models (merge_force.h). Architecture, names and shapes
 * fit, or it would not be in force. */
#ifndef FS_CHECK_CHECK_MERGE_H
#define FS_CHECK_CHECK_MERGE_H

struct finding;
struct halt;
struct merge_state;
struct model;

/* What is merged, and whether that can be read. */
void check_merge_models(const struct merge_state *state, struct finding *finding);

/* Do all models have the base's tokenizer? */
void check_merge_tokenizer(const struct merge_state *state, struct finding *finding);

/* Do all models descend from where the base does (check_lineage.h)? A mixture of tensors whose
 * numbers do not mean the same means nothing. Returns 0, -EINTR soon after halt, or -ENOMEM. */
int check_merge_lineage(const struct merge_state *state, const struct model *model,
			const struct halt *halt, struct finding *finding);

#endif
