/* SPDX-License-Identifier: MIT */
/* check_blocks.h - completeness of blocks. Added blocks are compared with those of the base. A
 * block for multi-token prediction ("nextn") has tensors of its own beside an attention and a
 * feed-forward network; such blocks are the last ones, and the metadata counts them both separately
 * and in block_count. */
#ifndef FS_CHECK_CHECK_BLOCKS_H
#define FS_CHECK_CHECK_BLOCKS_H

#include "fs/check/check_host.h"

#include <stdint.h>

struct check_group;

struct check_block {
	uint32_t n;	/* tensors now */
	uint32_t base;	/* tensors in the base */
	uint64_t roles; /* sum of the hashes of the base's roles */
	uint32_t kinds; /* kinds of block of the tensors now, as bits */
	bool nextn;	/* has a nextn tensor now */
};

/* Describe all BLOCKS_MAX blocks, by number, to free. NULL: out of memory. */
struct check_block *check_blocks_find(const struct check_groups *groups);

/* Block of a slot, -1: none. */
int32_t check_blocks_of(const struct check_groups *groups, uint32_t slot);

/* Whether the slot's block has any tensor now. */
bool check_blocks_is_there(const struct check_groups *groups, const struct check_block *blocks,
			   uint32_t slot);

/* Add to the finding if an added block lacks a tensor. Returns 0 or -ENOMEM. */
int check_blocks_added(const struct check_groups *groups, const struct check_block *blocks,
		       struct finding *finding);

/* Check that the metadata counts the nextn blocks. */
check_host_fn check_blocks_nextn;

/* Whether there is a nextn block, or a key about them. */
bool check_blocks_has_nextn(const struct check_groups *groups);

/* Whether all grafts of a group are in nextn blocks. False also if out of memory. */
bool check_blocks_all_nextn(const struct check_groups *groups, const struct check_group *group);

#endif
