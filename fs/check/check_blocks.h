/* SPDX-License-Identifier: MIT */
/* check_blocks.h - do blocks consist of what blocks have? Those that were added are compared with
 * those of the base. A block for multi-token prediction ("nextn") has tensors of its own beside an
 * attention and a feed-forward network; the metadata has to count such blocks, which are the last
 * ones and are counted by block_count too. */
#ifndef FS_CHECK_CHECK_BLOCKS_H
#define FS_CHECK_CHECK_BLOCKS_H

#include "fs/check/check_groups.h"
#include "fs/check/check_verdict.h"

/* Say it too if a block that was added lacks something. Returns 0 or -ENOMEM. */
int check_blocks_added(const struct check_groups *groups, struct finding *finding);

/* Does the metadata tell of the nextn blocks that are there? As those of check_host.h. */
int check_blocks_nextn(const struct check_groups *groups, const struct gguf *header,
		       struct finding *finding);

/* Is there such a block, or word of one? */
bool check_blocks_has_nextn(const struct check_groups *groups);

/* Are all grafts of a group in blocks that have nextn tensors? False also without memory. */
bool check_blocks_all_nextn(const struct check_groups *groups, const struct check_group *group);

#endif
