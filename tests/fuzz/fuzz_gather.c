/* SPDX-License-Identifier: MIT */
/* fuzz_gather.c - any bytes as a header without its tensors: it is refused, or joined with organs
 * of the listed tensors into pieces that lie within their sources. And any GGUF, split into header
 * and organs: joined again they equal the file, byte for byte. */
#include "fuzz_help.h"
#include "gguf/gather.h"
#include "gguf/join.h"
#include "gguf/organ.h"

#include <errno.h>
#include <string.h>

/* Most organs that the fuzzer makes. */
#define ORGANS_MAX 512u

struct bench {
	const struct gguf *gguf; /* of the header, or of the file */
	struct gather_header header;
	const struct gguf **files;
	uint8_t *head;	  /* bytes of the header */
	uint8_t **organs; /* bytes of the organ files, NULL without any */
	size_t *sizes;
};

/* Make the organ of a tensor of the file at bytes; if bytes is NULL, its header alone, from a
 * source of the size that the organ should have. */
static bool make_organ(struct bench *b, uint32_t i, const uint8_t *bytes)
{
	const struct gguf_tensor *t = &b->gguf->tensors[i];
	const struct organ organ = organ_of_tensor(t);
	struct memory_bytes memory;
	struct source source;
	struct error err;

	if (organ.data_size > RENDER_MAX || organ.header_size > RENDER_MAX)
		return false;
	b->sizes[i] = (size_t)(organ.header_size + organ.data_size);
	b->organs[i] = calloc(1, b->sizes[i] + 1);
	require(b->organs[i] != NULL);
	organ_write_header(&organ, b->organs[i]);
	if (bytes && t->size)
		memcpy(b->organs[i] + organ.header_size, bytes + t->offset, (size_t)t->size);
	memory = (struct memory_bytes){ b->organs[i], b->sizes[i] };
	source = source_of_memory(&memory);
	b->files[i + 1] = gather_read_organ(&source, t->name, t->name_length, &err);
	/* A short tensor has no organ. */
	require((b->files[i + 1] != NULL) == !type_is_short(t->type));
	return b->files[i + 1] != NULL;
}

static bool make_organs(struct bench *b, const uint8_t *bytes)
{
	const uint32_t n = b->gguf->n_tensors;

	b->files = calloc(n + 1u, sizeof(const struct gguf *));
	b->organs = calloc(n + 1u, sizeof(uint8_t *));
	b->sizes = calloc(n + 1u, sizeof(size_t));
	require(b->files && b->organs && b->sizes);
	for (uint32_t i = 0; i < n; i++)
		if (!make_organ(b, i, bytes))
			return false;
	return true;
}

static void release(struct bench *b)
{
	for (uint32_t i = 0; b->files && i < b->gguf->n_tensors; i++) {
		gguf_free((struct gguf *)b->files[i + 1]);
		free(b->organs[i]);
	}
	free(b->files);
	free(b->organs);
	free(b->sizes);
	free(b->head);
}

/* Check that the pieces follow one another and that each lies in its file. */
static void check_pieces(const struct bench *b, const struct join *join, bool packed)
{
	uint64_t at = 0;

	for (size_t i = 0; i < join->n_pieces; i++) {
		const struct join_piece *p = &join->pieces[i];

		require(p->start == at && p->length > 0);
		at += p->length;
		if (p->kind != JOIN_SHARD)
			continue;
		require(p->shard <= b->gguf->n_tensors);
		if (p->shard)
			require(p->offset + p->length <= b->sizes[p->shard - 1]);
		else
			require(!packed || p->offset + p->length <= b->header.size);
	}
	require(at == join->size);
}

static void join_header(const uint8_t *data, size_t size)
{
	struct memory_bytes memory = { data, size };
	const struct source source = source_of_memory(&memory);
	struct bench b = { .header = { size, true } };
	struct error err = { 0 };
	struct gguf *gguf = gguf_read_header(&source, &err);
	struct join join;

	if (!gguf) {
		require(err.code == EBADMSG || err.code == ENOTSUP);
		require(err.offset <= size || err.offset == ERROR_NO_OFFSET);
		return;
	}
	b.gguf = gguf;
	if (gguf->n_tensors <= ORGANS_MAX && make_organs(&b, NULL)) {
		b.files[0] = gguf;
		if (gather_join(b.files, gguf->n_tensors + 1, &b.header, &join, &err) == 0) {
			check_pieces(&b, &join, true);
			join_release(&join);
		}
	}
	release(&b);
	gguf_free(gguf);
}

/* Take the input as a header whose tensors have no bytes. */
static void take_header(struct bench *b, const uint8_t *data, size_t size)
{
	uint64_t at = 0, n = 0;

	b->head = malloc(size + 1);
	require(b->head != NULL);
	for (uint32_t i = 0; i <= b->gguf->n_tensors; i++) {
		const struct gguf_tensor *t =
			i < b->gguf->n_tensors ? &b->gguf->tensors[b->gguf->order[i]] : NULL;
		const uint64_t end = t ? t->offset : size;

		if (t && t->size == 0)
			continue;
		if (end > at) {
			memcpy(b->head + n, data + at, (size_t)(end - at));
			n += end - at;
			at = end;
		}
		if (t && t->offset + t->size > at)
			at = t->offset + t->size;
	}
	b->header = (struct gather_header){ n, true };
}

static void check_same(const struct bench *b, const struct join *join, const uint8_t *data,
		       size_t size)
{
	require(join->size == size);
	for (size_t i = 0; i < join->n_pieces; i++) {
		const struct join_piece *p = &join->pieces[i];
		const uint8_t *from = p->shard ? b->organs[p->shard - 1] : b->head;

		require(p->kind == JOIN_SHARD);
		require(memcmp(data + p->start, from + p->offset, (size_t)p->length) == 0);
	}
}

static void take_apart(const uint8_t *data, size_t size)
{
	struct gguf *gguf = read_bytes(data, size), *header;
	struct bench b = { .gguf = gguf };
	struct memory_bytes memory;
	struct source source;
	struct error err;
	struct join join;

	if (!gguf || gguf->n_tensors > ORGANS_MAX) {
		gguf_free(gguf);
		return;
	}
	take_header(&b, data, size);
	if (make_organs(&b, data)) {
		memory = (struct memory_bytes){ b.head, (size_t)b.header.size };
		source = source_of_memory(&memory);
		header = gguf_read_header(&source, &err);
		require(header != NULL);
		b.files[0] = header;
		require(gather_join(b.files, gguf->n_tensors + 1, &b.header, &join, &err) == 0);
		check_pieces(&b, &join, true);
		check_same(&b, &join, data, size);
		join_release(&join);
		gguf_free(header);
	}
	release(&b);
	gguf_free(gguf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	join_header(data, size);
	take_apart(data, size);
	return 0;
}
