/* SPDX-License-Identifier: MIT */
/* join_internal.h - shared by join.c and gather.c. */
#ifndef GGUF_JOIN_INTERNAL_H
#define GGUF_JOIN_INTERNAL_H

#include "join.h"

/* Append a piece, or extend the last one; ignore length 0. There is room for all pieces. */
void join_add(struct join *join, enum join_kind kind, uint32_t shard, uint64_t offset,
	      uint64_t length);

#endif
