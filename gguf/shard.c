/* SPDX-License-Identifier: MIT */
/* shard.c - see shard.h. */
#include "shard.h"
#include "bytes.h"
#include "reader.h"
#include "types.h"

bool gguf_split(const struct gguf *gguf, struct split *split)
{
	const struct kv *count = gguf_find(gguf, "split.count");
	const struct kv *no = gguf_find(gguf, "split.no");
	const struct kv *tensors = gguf_find(gguf, "split.tensors.count");

	*split = (struct split){ .no = 0 };
	if (!count || !kv_unsigned(count, &split->count) || split->count <= 1)
		return false;
	if (no)
		kv_unsigned(no, &split->no);
	if (tensors)
		kv_unsigned(tensors, &split->tensors);
	return true;
}

bool shard_is_key(const struct kv *kv)
{
	return kv->key_length > 6 && memcmp(kv->key, "split.", 6) == 0;
}

size_t shard_info_size(const struct gguf_tensor *tensor)
{
	return 8 + tensor->name_length + 4 + 8 * (size_t)tensor->dims + 4 + 8;
}

uint8_t *shard_store_info(uint8_t *bytes, const struct gguf_tensor *tensor, uint64_t offset)
{
	bytes = store_u64(bytes, tensor->name_length);
	bytes = store_bytes(bytes, tensor->name, tensor->name_length);
	bytes = store_u32(bytes, tensor->dims);
	for (uint32_t axis = 0; axis < tensor->dims; axis++)
		bytes = store_u64(bytes, tensor->ne[axis]);
	bytes = store_u32(bytes, type_id(tensor->type));
	return store_u64(bytes, offset);
}

bool shard_place(uint64_t start, const struct gguf_tensor *tensor, uint64_t alignment,
		 uint64_t *end)
{
	return add_u64(start, tensor->size, end) && align_u64(*end, alignment, end) &&
	       *end <= INT64_MAX / 2;
}
