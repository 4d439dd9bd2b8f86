/* SPDX-License-Identifier: MIT */
/* divide.c - see divide.h. */
#include "divide.h"
#include "bytes.h"
#include "error.h"
#include "reader.h"
#include "shard.h"

#include <errno.h>
#include <stdlib.h>

#define SPLIT_KEYS 3u

static uint64_t alignment_of(const struct gguf *whole, uint32_t number)
{
	return number == 0 ? whole->alignment : SHARD_ALIGNMENT;
}

/* Assign the tensors to shards. */
static int find_parts(const struct gguf *whole, uint64_t most, struct division *division)
{
	struct divide_part *part = NULL;
	uint64_t size = 0;

	division->n = most == 0;
	for (uint32_t i = 0; i < whole->n_tensors; i++) {
		const struct gguf_tensor *t = &whole->tensors[i];
		uint64_t more;

		if (!part || most == 0 || !shard_place(size, t, SHARD_ALIGNMENT, &more) ||
		    more > most) {
			if (division->n == DIVIDE_PARTS_MOST)
				return -EOVERFLOW;
			part = &division->parts[division->n++];
			part->first = i;
			if (!shard_place(0, t, SHARD_ALIGNMENT, &more))
				return -EOVERFLOW;
		}
		part->n_tensors++;
		size = more;
	}
	return 0;
}

/* allocate() has reserved room for all pieces. */
static void add(struct divide_part *part, enum divide_kind kind, uint64_t offset, uint64_t length)
{
	if (length == 0)
		return;
	part->pieces[part->n_pieces++] = (struct divide_piece){ kind, offset, length };
	part->size += length;
}

static size_t keys_size(void)
{
	return 3 * (8 + 4) + sizeof("split.no") - 1 + 2 + sizeof("split.count") - 1 + 2 +
	       sizeof("split.tensors.count") - 1 + 4;
}

static size_t infos_size(const struct gguf *whole, const struct divide_part *part)
{
	size_t size = 0;

	for (uint32_t i = part->first; i < part->first + part->n_tensors; i++)
		size += shard_info_size(&whole->tensors[i]);
	return size;
}

/* Two pieces per tensor (data, padding), and preamble, metadata entries, keys and infos,
 * padding. */
static int allocate(const struct gguf *whole, struct divide_part *part, uint32_t number)
{
	const size_t pieces = 2 * (size_t)part->n_tensors + 3 + (number == 0 ? whole->n_kv : 0);

	part->pieces = calloc(pieces, sizeof(*part->pieces));
	part->header = malloc(SHARD_PREAMBLE + keys_size() + infos_size(whole, part));
	return part->pieces && part->header ? 0 : -ENOMEM;
}

static uint8_t *store_key(uint8_t *bytes, const char *key, enum kv_type type, uint32_t value)
{
	const size_t n = strlen(key);

	bytes = store_u64(bytes, n);
	bytes = store_bytes(bytes, key, n);
	bytes = store_u32(bytes, type);
	if (type != KV_U16)
		return store_u32(bytes, value);
	bytes[0] = (uint8_t)value;
	bytes[1] = (uint8_t)(value >> 8);
	return bytes + 2;
}

static bool store_infos(const struct gguf *whole, const struct divide_part *part,
			uint64_t alignment, uint8_t *bytes)
{
	uint64_t end = 0;

	for (uint32_t i = part->first; i < part->first + part->n_tensors; i++) {
		const struct gguf_tensor *t = &whole->tensors[i];

		bytes = shard_store_info(bytes, t, end);
		if (!shard_place(end, t, alignment, &end))
			return false;
	}
	return true;
}

/* Copy the metadata to the first shard, without keys about an earlier split. */
static uint64_t add_metadata(const struct gguf *whole, struct divide_part *part)
{
	uint64_t start = SHARD_PREAMBLE, entries = 0;

	for (uint32_t i = 0; i < whole->n_kv; i++) {
		const struct kv *kv = &whole->kv[i];
		const uint64_t end = kv->offset + kv->length;

		if (!shard_is_key(kv)) {
			add(part, DIVIDE_WHOLE, start, end - start);
			entries++;
		}
		start = end;
	}
	return entries;
}

static void pad(struct divide_part *part, uint64_t alignment)
{
	add(part, DIVIDE_ZEROS, 0, (alignment - part->size % alignment) % alignment);
}

static int build_part(const struct gguf *whole, const struct division *division, uint32_t number)
{
	struct divide_part *part = &division->parts[number];
	const uint64_t alignment = alignment_of(whole, number);
	uint64_t entries = SPLIT_KEYS;
	uint8_t *bytes;
	int rc = allocate(whole, part, number);

	if (rc < 0)
		return rc;
	add(part, DIVIDE_MEMORY, 0, SHARD_PREAMBLE);
	if (number == 0)
		entries += add_metadata(whole, part);
	add(part, DIVIDE_MEMORY, SHARD_PREAMBLE, keys_size() + infos_size(whole, part));
	pad(part, alignment);
	bytes = store_bytes(part->header, "GGUF", 4);
	bytes = store_u32(bytes, whole->version);
	bytes = store_u64(bytes, part->n_tensors);
	bytes = store_u64(bytes, entries);
	bytes = store_key(bytes, "split.no", KV_U16, number);
	bytes = store_key(bytes, "split.count", KV_U16, division->n);
	bytes = store_key(bytes, "split.tensors.count", KV_I32, whole->n_tensors);
	if (!store_infos(whole, part, alignment, bytes))
		return -EOVERFLOW;
	for (uint32_t i = part->first; i < part->first + part->n_tensors; i++) {
		add(part, DIVIDE_WHOLE, whole->tensors[i].offset, whole->tensors[i].size);
		pad(part, alignment);
	}
	return 0;
}

static int build(const struct gguf *whole, uint64_t most, struct division *division)
{
	const uint32_t parts =
		whole->n_tensors < DIVIDE_PARTS_MOST ? whole->n_tensors + 1 : DIVIDE_PARTS_MOST;
	int rc;

	if (whole->version == 1)
		return -ENOTSUP;
	if (whole->n_tensors == 0)
		return -EINVAL;
	if (whole->n_tensors > INT32_MAX)
		return -EOVERFLOW;
	division->parts = calloc(parts, sizeof(*division->parts));
	if (!division->parts)
		return -ENOMEM;
	rc = find_parts(whole, most, division);
	for (uint32_t k = 0; rc == 0 && k < division->n; k++)
		rc = build_part(whole, division, k);
	return rc;
}

int divide_build(const struct gguf *whole, uint64_t most, struct division *division,
		 struct error *err)
{
	int rc;

	*division = (struct division){ 0 };
	rc = build(whole, most, division);
	if (rc == 0)
		return 0;
	divide_release(division);
	return error_set(err, -rc, ERROR_NO_OFFSET, "%s",
			 rc == -EOVERFLOW
				 ? "the split would have too many shards, or too large ones"
			 : rc == -ENOTSUP ? "GGUF version 1 cannot be split"
			 : rc == -EINVAL  ? "a model without tensors cannot be split"
					  : "out of memory");
}

void divide_release(struct division *division)
{
	for (uint32_t k = 0; k < division->n; k++) {
		free(division->parts[k].pieces);
		free(division->parts[k].header);
	}
	free(division->parts);
	*division = (struct division){ 0 };
}
