/* SPDX-License-Identifier: MIT */
/* gather.c - see gather.h. */
#include "gather.h"
#include "arena.h"
#include "error.h"
#include "join_internal.h"
#include "names.h"
#include "organ.h"
#include "reader.h"
#include "shard.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct gguf *gather_read_lent(const struct source *source, bool *packed, struct error *err)
{
	struct error none = { 0 };
	struct gguf *whole = gguf_read(source, &none);

	*packed = !whole;
	return whole ? whole : gguf_read_header(source, err);
}

/* A GGUF with one tensor, whose properties are not set. NULL: out of memory. */
static struct gguf *new_gguf(const struct organ *organ)
{
	struct gguf *gguf = calloc(1, sizeof(*gguf));

	if (!gguf)
		return NULL;
	*gguf = (struct gguf){ .version = 3,
			       .alignment = SHARD_ALIGNMENT,
			       .size = organ->header_size + organ->data_size,
			       .infos_end = organ->header_size,
			       .data_offset = organ->header_size,
			       .n_tensors = 1,
			       .tensors = calloc(1, sizeof(*gguf->tensors)),
			       .order = calloc(1, sizeof(*gguf->order)),
			       .keys = names_new(0),
			       .names = names_new(1),
			       .arena = arena_new() };
	if (gguf->tensors && gguf->order && gguf->keys && gguf->names && gguf->arena)
		return gguf;
	gguf_free(gguf);
	return NULL;
}

static struct gguf *gguf_of_organ(const struct organ *organ, const char *name, uint32_t length)
{
	struct gguf *gguf = new_gguf(organ);
	struct gguf_tensor *t = gguf ? gguf->tensors : NULL;

	if (!t)
		return NULL;
	*t = (struct gguf_tensor){ .name = arena_copy(gguf->arena, name, length),
				   .name_length = length,
				   .dims = organ->dims,
				   .type = organ->type,
				   .offset = organ->header_size,
				   .size = organ->data_size };
	memcpy(t->ne, organ->ne, sizeof(t->ne));
	if (t->name && names_add(gguf->names, t->name, length, 0) == 0)
		return gguf;
	gguf_free(gguf);
	return NULL;
}

struct gguf *gather_read_organ(const struct source *source, const char *name, uint32_t length,
			       struct error *err)
{
	struct organ organ;
	struct gguf *gguf;

	if (organ_parse(source, &organ, err) < 0)
		return NULL;
	gguf = gguf_of_organ(&organ, name ? name : organ.name, name ? length : organ.name_length);
	free((char *)organ.name);
	if (!gguf)
		error_errno(err, ENOMEM);
	return gguf;
}

/* Size of the tensor in its organ. If the header does not know the size of the last tensor, of an
 * unknown type, the organ's counts. */
static uint64_t size_of(const struct gguf_tensor *info, const struct gguf *file)
{
	return info->size || type_find(info->type) ? info->size : file->tensors[0].size;
}

/* Does each file agree with its tensor in the header, without missing or further ones? */
static bool is_as_listed(const struct gguf *const *files, uint32_t n)
{
	const struct gguf *header = files[0];

	if (!header || header->n_tensors != n - 1)
		return false;
	for (uint32_t i = 0; i < header->n_tensors; i++) {
		const struct gguf_tensor *info = &header->tensors[i];
		const struct gguf_tensor *t = files[i + 1] ? files[i + 1]->tensors : NULL;

		if (!t || t->name_length != info->name_length ||
		    memcmp(t->name, info->name, info->name_length) != 0 || t->type != info->type ||
		    t->dims != info->dims || memcmp(t->ne, info->ne, sizeof(t->ne)) != 0 ||
		    t->size != size_of(info, files[i + 1]))
			return false;
	}
	return true;
}

/* Offsets up to which the result and the header have been processed. */
struct position {
	uint64_t file, header;
};

/* Add the header's bytes from the current position to `end` of the result. */
static void add_between(struct join *join, struct position *at, uint64_t end,
			const struct gather_header *header)
{
	if (!header->packed)
		at->header = at->file;
	join_add(join, JOIN_SHARD, 0, at->header, end - at->file);
	at->header += end - at->file;
	at->file = end;
}

/* Plan a copy of the original file. If tensors share bytes, those of the first count. */
static void build(const struct gguf *const *files, const struct gather_header *header,
		  struct join *join)
{
	const struct gguf *gguf = files[0];
	struct position at = { 0 };

	for (uint32_t i = 0; i < gguf->n_tensors; i++) {
		const uint32_t number = gguf->order[i];
		const struct gguf_tensor *info = &gguf->tensors[number];
		const struct gguf *file = files[number + 1];
		const uint64_t size = size_of(info, file), end = info->offset + size;

		join->tensors[number].size = size;
		join->tensors[number].type = info->type;
		if (size == 0 || end <= at.file)
			continue;
		if (info->offset > at.file)
			add_between(join, &at, info->offset, header);
		join_add(join, JOIN_SHARD, number + 1,
			 file->tensors[0].offset + (at.file - info->offset), end - at.file);
		at.file = end;
	}
	if (!header->packed)
		at.header = at.file;
	if (header->size > at.header)
		join_add(join, JOIN_SHARD, 0, at.header, header->size - at.header);
	join->head_end = gguf->infos_end;
}

static int join_as_listed(const struct gguf *const *files, const struct gather_header *header,
			  struct join *join, struct error *err)
{
	const uint32_t n = files[0]->n_tensors;

	*join = (struct join){ .pieces = calloc(2 * (size_t)n + 2, sizeof(*join->pieces)),
			       .tensors = calloc((size_t)n + 1, sizeof(*join->tensors)),
			       .n_tensors = n };
	if (!join->pieces || !join->tensors) {
		join_release(join);
		return error_errno(err, ENOMEM);
	}
	build(files, header, join);
	if (join->size <= INT64_MAX / 2)
		return 0;
	join_release(join);
	return error_set(err, EOVERFLOW, ERROR_NO_OFFSET, "the organs together would be too large");
}

int gather_join(const struct gguf *const *files, uint32_t n, const struct gather_header *header,
		struct join *join, struct error *err)
{
	const struct gguf **shards;
	struct gguf metadata;
	int rc;

	if (is_as_listed(files, n))
		return join_as_listed(files, header, join, err);
	if (files[0] && files[0]->version == 1)
		return error_set(
			err, ENOTSUP, ERROR_NO_OFFSET,
			"GGUF version 1: all organs have to exist as the header lists them");
	shards = calloc(n, sizeof(const struct gguf *));
	if (!shards)
		return error_errno(err, ENOMEM);
	memcpy(shards, files, n * sizeof(const struct gguf *));
	if (files[0]) {
		metadata = *files[0];
		metadata.n_tensors = 0;
		shards[0] = &metadata;
	}
	rc = join_build(shards, n, join, err);
	free(shards);
	return rc;
}
