/* SPDX-License-Identifier: MIT */
/* check_blocks.h - do blocks consist of what blocks have? Those that were added are compared with
 * those of the base. A block for multi-token prediction ("nextn") has tensors of its own beside an
 * attention and a feed-forward network; the metadata has to count such blocks, which are the last
 * ones and are counted by block_count too. */
#ifndef FS_CHECK_CHECK_BLOCKS_H
#define FS_CHECK_CHECK_BLOCKS_H

#include "fs/check/check_host.h"

#include <stdint.h>

struct check_group;

struct check_block {
	uint32_t n;	/* tensors that are there */
	uint32_t base;	/* and in the base */
	uint64_t roles; /* in the base: of their names */
	uint32_t kinds; /* a bit for each kind of block that those that are there are of */
	bool nextn;	/* one of those that are there is for that */
};

/* All BLOCKS_MAX of them, by number, to free. NULL: out of memory. */
struct check_block *check_blocks_find(const struct check_groups *groups);

/* The block that a slot is of, -1: none. */
int32_t check_blocks_of(const struct check_groups *groups, uint32_t slot);

/* Is anything there of the block that a slot is of? */
bool check_blocks_is_there(const struct check_groups *groups, const struct check_block *blocks,
			   uint32_t slot);

/* Say it too if a block that was added lacks something. Returns 0 or -ENOMEM. */
int check_blocks_added(const struct check_groups *groups, const struct check_block *blocks,
		       struct finding *finding);

/* Does the metadata tell of the nextn blocks that are there? */
check_host_fn check_blocks_nextn;

/* Is there such a block, or word of one? */
bool check_blocks_has_nextn(const struct check_groups *groups);

/* Are all grafts of a group in blocks that have nextn tensors? False also without memory. */
bool check_blocks_all_nextn(const struct check_groups *groups, const struct check_group *group);

#endif
