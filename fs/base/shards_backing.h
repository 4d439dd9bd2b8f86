/* SPDX-License-Identifier: MIT */
/* shards_backing.h - the bytes of a GGUF that is there only as shards, read from them. */
#ifndef FS_BASE_SHARDS_BACKING_H
#define FS_BASE_SHARDS_BACKING_H

#include "fs/storage/backing.h"
#include "gguf/join.h"

/* The first bytes of shard 0, for when that is gone. */
struct shards_backing_head {
	const uint8_t *bytes; /* NULL: it is not */
	size_t length;
};

/* A backing of the file that join describes, which becomes the backing's, also on failure. files
 * are those of the n shards, NULL where one is missing; the backing takes references of its own,
 * and a copy of the head. It has that path, the status of the first that is there, and the time of
 * the one that was written last. NULL: out of memory. */
struct backing *shards_backing_new(struct join *join, struct backing *const *files, uint32_t n,
				   const struct shards_backing_head *head, const char *path);

#endif
