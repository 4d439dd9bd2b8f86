/* SPDX-License-Identifier: MIT */
/* test_join.c - gguf/join.c: shards in memory join to their original file, tensor by tensor. */
#include "gguf/bytes.h"
#include "gguf/cursor.h"
#include "gguf/join.h"
#include "gguf/shard.h"
#include "tests/unit/gguf_bytes.h"

#define GGML_F32 0u

static const uint64_t row[GGML_AXES] = { 10, 1, 1, 1 };

static void put_u16(struct mkgguf *m, const char *key, unsigned value)
{
	const uint8_t bytes[2] = { (uint8_t)value, (uint8_t)(value >> 8) };

	mkgguf_kv(m, key, strlen(key), KV_U16, bytes, 2);
}

/* Shard no of count with n tensors; shard 0 has metadata before and behind the split.* keys. */
static struct mkgguf *mk_shard(unsigned no, unsigned count, unsigned n)
{
	static char names[64][16];
	struct mkgguf *m = mkgguf_new(3);

	if (no == 0)
		mkgguf_kv_string(m, "general.architecture", "llama");
	put_u16(m, "split.no", no);
	put_u16(m, "split.count", count);
	mkgguf_kv_u32(m, "split.tensors.count", 5);
	if (no == 0)
		mkgguf_kv_u32(m, "llama.block_count", 2);
	for (unsigned i = 0; i < n; i++) {
		char *name = names[no * 8 + i];

		snprintf(name, 16, "t.%u.%u", no, i);
		mkgguf_tensor(m, name, GGML_F32, 1, row);
	}
	return m;
}

/* Up to three shards, and the joined model with its bytes. */
struct bench {
	struct mk_file files[3];
	struct gguf *ggufs[3];
	struct join join;
	uint8_t *bytes;
	struct gguf *gguf;
};

static void render(struct bench *b)
{
	uint64_t at = 0;

	b->bytes = calloc(1, to_size(b->join.size) + 1);
	assert_non_null(b->bytes);
	for (size_t i = 0; i < b->join.n_pieces; i++) {
		const struct join_piece *p = &b->join.pieces[i];

		assert_int_equal(p->start, at);
		assert_true(p->length > 0);
		if (p->kind == JOIN_MEMORY)
			memcpy(b->bytes + at, b->join.header + p->offset, to_size(p->length));
		else if (p->kind == JOIN_SHARD)
			memcpy(b->bytes + at, b->files[p->shard].bytes + p->offset,
			       to_size(p->length));
		at += p->length;
	}
	assert_int_equal(at, b->join.size);
}

/* A bench of shards with these numbers of tensors; -1: the shard is missing. */
static struct bench bench_of(int a, int b, int c)
{
	const int n[3] = { a, b, c };
	struct memory_bytes memory;
	struct source source;
	struct error err = { 0 };
	struct bench bench = { .bytes = NULL };

	for (unsigned k = 0; k < 3; k++) {
		if (n[k] < 0)
			continue;
		bench.files[k] = mkgguf_finish(mk_shard(k, 3, (unsigned)n[k]));
		bench.ggufs[k] = read_bytes(bench.files[k].bytes, bench.files[k].size);
	}
	assert_int_equal(join_build((const struct gguf *const *)bench.ggufs, 3, &bench.join, &err),
			 0);
	render(&bench);
	memory = (struct memory_bytes){ bench.bytes, to_size(bench.join.size) };
	source = source_of_memory(&memory);
	bench.gguf = join_read(&bench.join, &source, &err);
	assert_non_null(bench.gguf);
	return bench;
}

static void release(struct bench *b)
{
	for (unsigned k = 0; k < 3; k++) {
		gguf_free(b->ggufs[k]);
		if (b->files[k].bytes)
			mk_file_free(&b->files[k]);
	}
	gguf_free(b->gguf);
	join_release(&b->join);
	free(b->bytes);
}

/* Check that tensor i of the joined file is tensor j of shard k. */
static void assert_tensor(const struct bench *b, uint32_t i, unsigned k, uint32_t j)
{
	const struct gguf_tensor *t = &b->gguf->tensors[i], *was = &b->ggufs[k]->tensors[j];

	assert_string_equal(t->name, was->name);
	assert_int_equal(t->size, was->size);
	assert_memory_equal(b->bytes + t->offset, b->files[k].bytes + was->offset,
			    to_size(t->size));
}

static void shards_are_joined_in_the_order_of_their_numbers(void **state)
{
	struct bench b = bench_of(2, 1, 2);

	(void)state;
	assert_int_equal(b.gguf->n_tensors, 5);
	assert_tensor(&b, 0, 0, 0);
	assert_tensor(&b, 1, 0, 1);
	assert_tensor(&b, 2, 1, 0);
	assert_tensor(&b, 3, 2, 0);
	assert_tensor(&b, 4, 2, 1);
	assert_int_equal(b.join.size % 32, 0);
	release(&b);
}

static void metadata_is_the_first_shards_without_split_keys(void **state)
{
	struct bench b = bench_of(2, 1, 2);

	(void)state;
	assert_int_equal(b.gguf->n_kv, 2);
	assert_non_null(gguf_find(b.gguf, "general.architecture"));
	assert_non_null(gguf_find(b.gguf, "llama.block_count"));
	assert_null(gguf_find(b.gguf, "split.count"));
	release(&b);
}

static void missing_shards_are_left_out(void **state)
{
	struct bench b = bench_of(-1, 1, 2);

	(void)state;
	assert_int_equal(b.gguf->n_kv, 0);
	assert_int_equal(b.gguf->n_tensors, 3);
	assert_tensor(&b, 0, 1, 0);
	assert_tensor(&b, 2, 2, 1);
	release(&b);
}

static void a_first_shard_may_have_no_tensors(void **state)
{
	struct bench b = bench_of(0, 2, 3);

	(void)state;
	assert_int_equal(b.gguf->n_kv, 2);
	assert_int_equal(b.gguf->n_tensors, 5);
	assert_tensor(&b, 4, 2, 2);
	release(&b);
}

static void nothing_is_read_beyond_the_infos(void **state)
{
	struct bench b = bench_of(2, 1, 2);
	struct memory_bytes memory = { b.bytes, to_size(b.join.size) };
	const struct source source = source_of_memory(&memory);
	struct error err = { 0 };
	struct gguf *gguf;

	(void)state;
	assert_int_equal(b.join.head_end, b.gguf->infos_end);
	memset(b.bytes + b.join.head_end, 0xff, to_size(b.join.size - b.join.head_end));
	gguf = join_read(&b.join, &source, &err);
	assert_non_null(gguf);
	assert_int_equal(gguf->n_tensors, 5);
	gguf_free(gguf);
	release(&b);
}

/* The type has unknown blocks, so only the shard tells the tensor's end. */
static void a_tensor_of_an_unknown_type_keeps_its_size(void **state)
{
	struct mkgguf *m = mk_shard(0, 3, 0);
	struct bench b = { .bytes = NULL };
	struct memory_bytes memory;
	struct source source;
	struct error err = { 0 };

	(void)state;
	m->final_padding = false;
	mkgguf_tensor(m, "odd", 200, 1, row)->size = 33;
	b.files[0] = mkgguf_finish(m);
	b.files[1] = mkgguf_finish(mk_shard(1, 3, 1));
	for (unsigned k = 0; k < 2; k++)
		b.ggufs[k] = read_bytes(b.files[k].bytes, b.files[k].size);
	assert_int_equal(join_build((const struct gguf *const *)b.ggufs, 3, &b.join, &err), 0);
	render(&b);
	memory = (struct memory_bytes){ b.bytes, to_size(b.join.size) };
	source = source_of_memory(&memory);
	b.gguf = join_read(&b.join, &source, &err);
	assert_non_null(b.gguf);
	assert_int_equal(b.gguf->tensors[0].size, 33);
	assert_tensor(&b, 1, 1, 0);
	release(&b);
}

static void every_byte_lies_in_its_piece(void **state)
{
	struct bench b = bench_of(2, 1, 2);

	(void)state;
	for (uint64_t at = 0; at < b.join.size; at++) {
		const struct join_piece *p = join_find(&b.join, at);

		assert_true(p->start <= at && at - p->start < p->length);
	}
	release(&b);
}

static void version_1_was_never_split(void **state)
{
	struct mkgguf *m = mkgguf_new(1);
	struct mk_file file;
	struct gguf *shards[2] = { NULL };
	struct error err = { 0 };
	struct join join;

	(void)state;
	mkgguf_tensor(m, "t", GGML_F32, 1, row);
	file = mkgguf_finish(m);
	shards[1] = read_bytes(file.bytes, file.size);
	assert_refused(join_build((const struct gguf *const *)shards, 2, &join, &err), &err,
		       ENOTSUP, ERROR_NO_OFFSET);
	gguf_free(shards[1]);
	shards[1] = NULL;
	assert_refused(join_build((const struct gguf *const *)shards, 2, &join, &err), &err, EINVAL,
		       ERROR_NO_OFFSET);
	mk_file_free(&file);
}

/* A shard claims a size that overflows 64 bits. */
static void shards_that_would_be_too_large_are_refused(void **state)
{
	struct gguf_tensor tensors[2] = {
		{ .name = "a",
		  .name_length = 1,
		  .dims = 1,
		  .ne = { 1, 1, 1, 1 },
		  .size = INT64_MAX / 2 },
		{ .name = "b",
		  .name_length = 1,
		  .dims = 1,
		  .ne = { 1, 1, 1, 1 },
		  .size = INT64_MAX / 2 },
	};
	const struct gguf huge = {
		.version = 3, .alignment = 32, .n_tensors = 2, .tensors = tensors
	};
	const struct gguf *shards[1] = { &huge };
	struct error err = { 0 };
	struct join join;

	(void)state;
	assert_refused(join_build(shards, 1, &join, &err), &err, EOVERFLOW, ERROR_NO_OFFSET);
}

static void each_failing_allocation_is_reported(void **state)
{
	struct bench b;

	(void)state;
	needs_failing_allocations();
	b = bench_of(2, 1, 2);
	for (uint64_t k = 1;; k++) {
		struct error err = { 0 };
		struct join join;
		int rc;

		allocation_fails(k);
		rc = join_build((const struct gguf *const *)b.ggufs, 3, &join, &err);
		if (!allocation_failed()) {
			assert_int_equal(rc, 0);
			join_release(&join);
			break;
		}
		assert_refused(rc, &err, ENOMEM, ERROR_NO_OFFSET);
	}
	release(&b);
}

static void join_of_one_part_is_not_split(void **state)
{
	struct mk_file file = mkgguf_finish(mk_shard(0, 1, 1));
	struct gguf *gguf = read_bytes(file.bytes, file.size);
	struct split split;

	(void)state;
	assert_false(gguf_split(gguf, &split));
	gguf_free(gguf);
	mk_file_free(&file);
	file = mkgguf_finish(mk_shard(2, 3, 1));
	gguf = read_bytes(file.bytes, file.size);
	assert_true(gguf_split(gguf, &split));
	assert_int_equal(split.no, 2);
	assert_int_equal(split.count, 3);
	assert_int_equal(split.tensors, 5);
	gguf_free(gguf);
	mk_file_free(&file);
}

UNIT_MAIN(NULL, NULL)
