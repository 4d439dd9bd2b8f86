/* SPDX-License-Identifier: MIT */
/* fuzz_divide.c - any GGUF, divided into shards of a size chosen by the last bytes, with some
 * shards lost: all pieces lie within their source, each shard parses as a shard, and the remaining
 * shards joined again have the remaining tensors. */
#include "fuzz_help.h"
#include "gguf/bytes.h"
#include "gguf/divide.h"
#include "gguf/join.h"

/* Number of last bytes that choose. */
#define CHOICES ((size_t)8)

struct bench {
	struct gguf *whole;
	const uint8_t *bytes; /* of the whole file */
	uint64_t most;
	struct division division;
	uint8_t **shards;
	struct gguf **ggufs; /* NULL: the shard is lost */
};

/* Check that all pieces lie within their source. Returns false if the file is too large to
 * render. */
static bool check_parts(const struct bench *b)
{
	uint32_t next = 0;
	bool small = true;

	for (uint32_t k = 0; k < b->division.n; k++) {
		const struct divide_part *part = &b->division.parts[k];
		uint64_t sum = 0;

		require(part->first == next && (part->n_tensors > 0 || (k == 0 && !b->most)));
		require(b->most || part->n_tensors == (k > 0));
		next += part->n_tensors;
		for (size_t i = 0; i < part->n_pieces; i++) {
			const struct divide_piece *p = &part->pieces[i];
			uint64_t end;

			require(p->length > 0 && add_u64(p->offset, p->length, &end));
			require(p->kind != DIVIDE_WHOLE || end <= b->whole->size);
			require(add_u64(sum, p->length, &sum));
		}
		require(sum == part->size);
		small = small && part->size <= RENDER_MAX;
	}
	require(next == b->whole->n_tensors);
	return small;
}

static void render_part(struct bench *b, uint32_t k)
{
	const struct divide_part *part = &b->division.parts[k];
	uint8_t *at = b->shards[k] = calloc(1, part->size + 1);

	require(at != NULL);
	for (size_t i = 0; i < part->n_pieces; i++) {
		const struct divide_piece *p = &part->pieces[i];

		if (p->kind == DIVIDE_MEMORY)
			memcpy(at, part->header + p->offset, p->length);
		else if (p->kind == DIVIDE_WHOLE)
			memcpy(at, b->bytes + p->offset, p->length);
		at += p->length;
	}
	b->ggufs[k] = read_bytes(b->shards[k], part->size);
	require(b->ggufs[k] != NULL);
	require(b->ggufs[k]->n_tensors == part->n_tensors);
}

static uint8_t *render_join(const struct bench *b, const struct join *join)
{
	uint8_t *bytes = calloc(1, join->size + 1), *at = bytes;

	require(bytes != NULL);
	for (size_t i = 0; i < join->n_pieces; i++) {
		const struct join_piece *p = &join->pieces[i];

		require(p->start == (uint64_t)(at - bytes) && p->length > 0);
		if (p->kind == JOIN_MEMORY) {
			memcpy(at, join->header + p->offset, p->length);
		} else if (p->kind == JOIN_SHARD) {
			require(p->offset + p->length <= b->division.parts[p->shard].size);
			memcpy(at, b->shards[p->shard] + p->offset, p->length);
		}
		at += p->length;
	}
	require(join->size == (uint64_t)(at - bytes));
	return bytes;
}

/* Check that the joined model has the remaining shards' tensors, in order, with their bytes. */
static void check_joined(const struct bench *b, const struct gguf *joined, const uint8_t *bytes)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < b->division.n; k++) {
		const struct divide_part *part = &b->division.parts[k];

		for (uint32_t i = 0; b->ggufs[k] && i < part->n_tensors; i++, n++) {
			const struct gguf_tensor *t = &joined->tensors[n];
			const struct gguf_tensor *was = &b->whole->tensors[part->first + i];

			require(n < joined->n_tensors && t->name_length == was->name_length);
			require(memcmp(t->name, was->name, t->name_length) == 0);
			require(t->type == was->type && t->size >= was->size);
			require(memcmp(bytes + t->offset, b->bytes + was->offset, was->size) == 0);
		}
	}
	require(n == joined->n_tensors);
}

static void join_again(const struct bench *b)
{
	struct memory_bytes memory;
	struct source source;
	struct error err;
	struct join join;
	struct gguf *joined;
	uint8_t *bytes;

	if (join_build((const struct gguf *const *)b->ggufs, b->division.n, &join, &err) < 0)
		return;
	if (join.size <= 4 * RENDER_MAX) {
		bytes = render_join(b, &join);
		memory = (struct memory_bytes){ bytes, join.size };
		source = source_of_memory(&memory);
		joined = join_read(&join, &source, &err);
		require(joined != NULL);
		check_joined(b, joined, bytes);
		gguf_free(joined);
		free(bytes);
	}
	join_release(&join);
}

static void divide(struct bench *b, const uint8_t *choices)
{
	struct error err;

	b->most = load_u32(choices);
	if (divide_build(b->whole, b->most, &b->division, &err) < 0)
		return;
	b->shards = calloc(b->division.n, sizeof(uint8_t *));
	b->ggufs = calloc(b->division.n, sizeof(struct gguf *));
	require(b->shards && b->ggufs);
	if (check_parts(b)) {
		for (uint32_t k = 0; k < b->division.n; k++)
			if (!(choices[4 + k % 4] & 1u << k / 4 % 8))
				render_part(b, k);
		join_again(b);
	}
	for (uint32_t k = 0; k < b->division.n; k++) {
		gguf_free(b->ggufs[k]);
		free(b->shards[k]);
	}
	free(b->ggufs);
	free(b->shards);
	divide_release(&b->division);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bench b = { .bytes = data };

	if (size < CHOICES)
		return 0;
	size -= CHOICES;
	b.whole = read_bytes(data, size);
	/* The smallest choice makes a shard per tensor. */
	if (b.whole && b.whole->n_tensors <= 4096 && !has_short(b.whole))
		divide(&b, data + size);
	gguf_free(b.whole);
	return 0;
}
