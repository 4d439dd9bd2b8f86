/* SPDX-License-Identifier: MIT */
/* shard.h - the keys and tensor infos of a shard of a split GGUF, for join.c and divide.c.
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

/* alignment of a file without general.alignment, as are all shards but the first */
#define SHARD_ALIGNMENT 32u

/* Number and count of shards, from the keys of a file. */
struct split {
	uint64_t no, count; /* no: counted from 0 */
	uint64_t tensors;   /* of all shards; 0: not given */
};

/* Is the file a shard of a split model? False for a split into one part. */
bool gguf_split(const struct gguf *gguf, struct split *split);

/* Is it one of the split.* keys? */
bool shard_is_key(const struct kv *kv);

/* Size of a tensor's info in bytes. */
size_t shard_info_size(const struct gguf_tensor *tensor);

/* Write the info of a tensor whose data has that offset. Returns a pointer to the byte after it. */
uint8_t *shard_store_info(uint8_t *bytes, const struct gguf_tensor *tensor, uint64_t offset);

/* End of a tensor's data, with padding, if the data begins at start. False: too large. */
bool shard_place(uint64_t start, const struct gguf_tensor *tensor, uint64_t alignment,
		 uint64_t *end);

#endif
