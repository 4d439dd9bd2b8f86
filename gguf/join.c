/* SPDX-License-Identifier: MIT */
/* join.c - see join.h. */
#include "bytes.h"
#include "error.h"
#include "join_internal.h"
#include "reader.h"
#include "shard.h"

#include <errno.h>
#include <stdlib.h>

void join_add(struct join *join, enum join_kind kind, uint32_t shard, uint64_t offset,
	      uint64_t length)
{
	struct join_piece *last = join->n_pieces ? &join->pieces[join->n_pieces - 1] : NULL;

	if (length == 0)
		return;
	if (last && kind == JOIN_SHARD && last->kind == JOIN_SHARD && last->shard == shard &&
	    last->offset + last->length == offset)
		last->length += length;
	else
		join->pieces[join->n_pieces++] = (struct join_piece){ .kind = kind,
								      .shard = shard,
								      .offset = offset,
								      .start = join->size,
								      .length = length };
	join->size += length;
}

/* Size of the new parts of the header: preamble and infos, in bytes. */
static size_t header_size(const struct gguf *const *shards, uint32_t n)
{
	size_t size = SHARD_PREAMBLE;

	for (uint32_t k = 0; k < n; k++)
		for (uint32_t i = 0; shards[k] && i < shards[k]->n_tensors; i++)
			size += shard_info_size(&shards[k]->tensors[i]);
	return size;
}

static int allocate(const struct gguf *const *shards, uint32_t n, struct join *join)
{
	uint64_t tensors = 0;

	for (uint32_t k = 0; k < n; k++)
		tensors += shards[k] ? shards[k]->n_tensors : 0;
	if (tensors >= UINT32_MAX)
		return -EOVERFLOW;
	join->n_tensors = (uint32_t)tensors;
	/* Two pieces per tensor, one per metadata entry; preamble, infos and padding. */
	join->pieces = calloc(2 * (size_t)tensors + 3 + (shards[0] ? shards[0]->n_kv : 0),
			      sizeof(*join->pieces));
	join->tensors = calloc((size_t)tensors + 1, sizeof(*join->tensors));
	join->header = malloc(header_size(shards, n));
	return join->pieces && join->tensors && join->header ? 0 : -ENOMEM;
}

/* The shard whose GGUF version the joined file gets. */
static const struct gguf *first_of(const struct gguf *const *shards, uint32_t n)
{
	for (uint32_t k = 0; k < n; k++)
		if (shards[k])
			return shards[k];
	return NULL;
}

static void join_metadata(const struct gguf *shard, struct join *join, uint64_t *entries)
{
	uint64_t start = SHARD_PREAMBLE;

	for (uint32_t i = 0; shard && i < shard->n_kv; i++) {
		const struct kv *kv = &shard->kv[i];
		const uint64_t end = kv->offset + kv->length;

		if (!shard_is_key(kv)) {
			join_add(join, JOIN_SHARD, 0, start, end - start);
			++*entries;
		}
		start = end;
	}
}

/* Write the infos; compute the offset of each tensor's data from the begin of all data. */
static bool write_infos(const struct gguf *const *shards, uint32_t n, uint64_t alignment,
			uint8_t *bytes)
{
	uint64_t end = 0;

	for (uint32_t k = 0; k < n; k++) {
		for (uint32_t i = 0; shards[k] && i < shards[k]->n_tensors; i++) {
			const struct gguf_tensor *t = &shards[k]->tensors[i];

			bytes = shard_store_info(bytes, t, end);
			if (!shard_place(end, t, alignment, &end))
				return false;
		}
	}
	return true;
}

static void join_data(const struct gguf *const *shards, uint32_t n, uint64_t alignment,
		      struct join *join)
{
	uint32_t number = 0;

	for (uint32_t k = 0; k < n; k++) {
		for (uint32_t i = 0; shards[k] && i < shards[k]->n_tensors; i++) {
			const struct gguf_tensor *t = &shards[k]->tensors[i];

			join->tensors[number].size = t->size;
			join->tensors[number++].type = t->type;
			join_add(join, JOIN_SHARD, k, t->offset, t->size);
			join_add(join, JOIN_ZEROS, 0, 0,
				 (alignment - t->size % alignment) % alignment);
		}
	}
}

static int build(const struct gguf *const *shards, uint32_t n, struct join *join)
{
	const struct gguf *first = first_of(shards, n);
	/* Shard 0 has the metadata, and with it general.alignment. */
	const uint64_t alignment = shards[0] ? shards[0]->alignment : SHARD_ALIGNMENT;
	const size_t infos = header_size(shards, n) - SHARD_PREAMBLE;
	uint64_t entries = 0;
	uint8_t *bytes;

	join_add(join, JOIN_MEMORY, 0, 0, SHARD_PREAMBLE);
	join_metadata(shards[0], join, &entries);
	join_add(join, JOIN_MEMORY, 0, SHARD_PREAMBLE, infos);
	join->head_end = join->size;
	if (join->n_tensors)
		join_add(join, JOIN_ZEROS, 0, 0, (alignment - join->size % alignment) % alignment);
	bytes = store_bytes(join->header, "GGUF", 4);
	bytes = store_u32(bytes, first->version);
	bytes = store_u64(bytes, join->n_tensors);
	bytes = store_u64(bytes, entries);
	if (!write_infos(shards, n, alignment, bytes))
		return -EOVERFLOW;
	join_data(shards, n, alignment, join);
	return 0;
}

int join_build(const struct gguf *const *shards, uint32_t n, struct join *join, struct error *err)
{
	int rc = first_of(shards, n) ? 0 : -EINVAL;

	*join = (struct join){ 0 };
	for (uint32_t k = 0; k < n; k++)
		if (shards[k] && shards[k]->version == 1)
			rc = -ENOTSUP;
	if (rc == 0)
		rc = allocate(shards, n, join);
	if (rc == 0)
		rc = build(shards, n, join);
	if (rc == 0)
		return 0;
	join_release(join);
	return error_set(err, -rc, ERROR_NO_OFFSET, "%s",
			 rc == -EOVERFLOW ? "the shards together would be too large"
			 : rc == -ENOTSUP ? "a shard has GGUF version 1, which was never split"
			 : rc == -EINVAL  ? "all shards are missing"
					  : "out of memory");
}

void join_release(struct join *join)
{
	free(join->pieces);
	free(join->header);
	free(join->tensors);
	*join = (struct join){ 0 };
}

struct gguf *join_read(const struct join *join, const struct source *source, struct error *err)
{
	struct gguf *gguf = gguf_read(source, err);

	/* The joined file has padding after the tensor, so only the shard tells the size of a short
	 * tensor and of an unknown type. */
	for (uint32_t i = 0; gguf && i < gguf->n_tensors && i < join->n_tensors; i++) {
		gguf->tensors[i].size = join->tensors[i].size;
		gguf->tensors[i].type = join->tensors[i].type;
	}
	return gguf;
}

const struct join_piece *join_find(const struct join *join, uint64_t at)
{
	size_t low = 0, high = join->n_pieces;

	while (high - low > 1) {
		const size_t middle = low + (high - low) / 2;

		if (join->pieces[middle].start <= at)
			low = middle;
		else
			high = middle;
	}
	return &join->pieces[low];
}
