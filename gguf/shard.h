/* SPDX-License-Identifier: MIT */
/* shard.h - what a shard of a split GGUF says of itself, and how its tensor infos are written: what
 * join.c and divide.c share.
 *
 * Source: gguf-split of llama.cpp. split.no and split.count (u16) and split.tensors.count (i32) are
 * in each shard; the metadata of the model is in shard 0. */
#ifndef GGUF_SHARD_H
#define GGUF_SHARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gguf;
struct gguf_tensor;
struct kv;

/* Magic, version and both counts, from version 2 on; version 1 was never split. */
#define SHARD_PREAMBLE ((size_t)24)

/* Of a file that does not say, as every shard but the first one. */
#define SHARD_ALIGNMENT 32u

/* Which shard of how many a file says it is. */
struct split {
	uint64_t no, count; /* no: from 0 */
	uint64_t tensors;   /* of all shards; 0: it does not say */
};

/* Is the file a shard of a split model? One that is split into one part is not. */
bool gguf_split(const struct gguf *gguf, struct split *split);

/* Does the entry say how the model is split? */
bool shard_is_key(const struct kv *kv);

/* Bytes of a tensor's info. */
size_t shard_info_size(const struct gguf_tensor *tensor);

/* Write the info of a tensor whose data is at offset in the data. Returns the byte after it. */
uint8_t *shard_store_info(uint8_t *bytes, const struct gguf_tensor *tensor, uint64_t offset);

/* The end of a tensor's data with its padding, where it begins at start. False: too large. */
bool shard_place(uint64_t start, const struct gguf_tensor *tensor, uint64_t alignment,
		 uint64_t *end);

#endif
