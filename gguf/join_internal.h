/* SPDX-License-Identifier: MIT */
/* join_internal.h - what join.c and gather.c share. */
#ifndef GGUF_JOIN_INTERNAL_H
#define GGUF_JOIN_INTERNAL_H

#include "join.h"

/* Add a piece at the end, or make the last one longer; nothing of no length. join->pieces has room
 * for every piece that there can be. */
void join_add(struct join *join, enum join_kind kind, uint32_t shard, uint64_t offset,
	      uint64_t length);

#endif
