/* SPDX-License-Identifier: MIT */
/* test_divide.c - gguf/divide.c: shards that gguf/join.c joins to the same file. */
#include "gguf/bytes.h"
#include "gguf/divide.h"
#include "gguf/join.h"
#include "gguf/shard.h"
#include "tests/unit/gguf_bytes.h"

#define GGML_F32 0u

#define PARTS_MAX 16u

/* A file of n tensors of 40 bytes. */
static struct mk_file make(uint32_t n, uint32_t alignment)
{
	static char names[PARTS_MAX][8];
	static const uint64_t row[GGML_AXES] = { 10, 1, 1, 1 };
	struct mkgguf *m = mkgguf_new(3);

	mkgguf_kv_string(m, "general.architecture", "llama");
	if (alignment != 32)
		mkgguf_alignment(m, alignment);
	mkgguf_kv_u32(m, "llama.block_count", 2);
	for (uint32_t i = 0; i < n; i++) {
		snprintf(names[i], sizeof(names[i]), "t.%u", i);
		mkgguf_tensor(m, names[i], GGML_F32, 1, row);
	}
	return mkgguf_finish(m);
}

static uint8_t *render(const struct divide_part *part, const struct mk_file *file)
{
	uint8_t *bytes = calloc(1, to_size(part->size) + 1);
	uint64_t at = 0;

	assert_non_null(bytes);
	for (size_t i = 0; i < part->n_pieces; i++) {
		const struct divide_piece *p = &part->pieces[i];

		if (p->kind == DIVIDE_MEMORY)
			memcpy(bytes + at, part->header + p->offset, to_size(p->length));
		else if (p->kind == DIVIDE_WHOLE)
			memcpy(bytes + at, file->bytes + p->offset, to_size(p->length));
		at += p->length;
	}
	assert_int_equal(at, part->size);
	return bytes;
}

/* Divide and join the file, and check that the result is the same. Returns the number of shards. */
static uint32_t assert_round_trip(const struct mk_file *file, uint64_t most)
{
	struct gguf *whole = read_bytes(file->bytes, file->size), *shards[PARTS_MAX] = { NULL };
	uint8_t *bytes[PARTS_MAX] = { NULL };
	struct division division;
	struct join join;
	struct error err = { 0 };
	uint32_t n;

	assert_int_equal(divide_build(whole, most, &division, &err), 0);
	n = division.n;
	assert_true(n >= 1 && n <= PARTS_MAX);
	for (uint32_t k = 0; k < n; k++) {
		struct split split;

		bytes[k] = render(&division.parts[k], file);
		shards[k] = read_bytes(bytes[k], to_size(division.parts[k].size));
		if (gguf_split(shards[k], &split)) {
			assert_int_equal(split.no, k);
			assert_int_equal(split.count, n);
			assert_int_equal(split.tensors, whole->n_tensors);
		}
		assert_int_equal(gguf_find(shards[k], "split.no")->type, KV_U16);
		assert_int_equal(gguf_find(shards[k], "split.tensors.count")->type, KV_I32);
		assert_int_equal(shards[k]->n_kv, k ? 3 : whole->n_kv + 3);
	}
	assert_int_equal(join_build((const struct gguf *const *)shards, n, &join, &err), 0);
	assert_int_equal(join.size, file->size);
	for (size_t i = 0; i < join.n_pieces; i++) {
		const struct join_piece *p = &join.pieces[i];
		const uint8_t *from = p->kind == JOIN_SHARD ? bytes[p->shard] : join.header;

		if (p->kind != JOIN_ZEROS)
			assert_memory_equal(file->bytes + p->start, from + p->offset,
					    to_size(p->length));
	}
	join_release(&join);
	divide_release(&division);
	gguf_free(whole);
	for (uint32_t k = 0; k < n; k++) {
		gguf_free(shards[k]);
		free(bytes[k]);
	}
	return n;
}

static void every_division_can_be_joined(void **state)
{
	(void)state;
	for (uint32_t n = 1; n <= 7; n++) {
		struct mk_file file = make(n, 32);

		for (uint64_t most = 1; most < 64 * 8; most += 13)
			assert_round_trip(&file, most);
		mk_file_free(&file);
	}
}

static void shard_is_filled_up_to_its_limit(void **state)
{
	struct mk_file file = make(6, 32);

	(void)state;
	/* A tensor of 40 bytes takes 64 with padding. */
	assert_int_equal(assert_round_trip(&file, 1), 6);
	assert_int_equal(assert_round_trip(&file, 127), 6);
	assert_int_equal(assert_round_trip(&file, 128), 3);
	assert_int_equal(assert_round_trip(&file, 64 * 5), 2);
	assert_int_equal(assert_round_trip(&file, 64 * 6), 1);
	assert_int_equal(assert_round_trip(&file, UINT64_MAX), 1);
	mk_file_free(&file);
}

static void most_of_0_gives_each_tensor_a_shard_after_the_metadata(void **state)
{
	(void)state;
	for (uint32_t n = 1; n < PARTS_MAX; n++) {
		struct mk_file file = make(n, 32);
		struct gguf *whole = read_bytes(file.bytes, file.size);
		struct division division;
		struct error err = { 0 };

		assert_int_equal(assert_round_trip(&file, 0), n + 1);
		assert_int_equal(divide_build(whole, 0, &division, &err), 0);
		for (uint32_t k = 0; k <= n; k++)
			assert_int_equal(division.parts[k].n_tensors, k > 0);
		divide_release(&division);
		gguf_free(whole);
		mk_file_free(&file);
	}
}

static void tensors_without_bytes_get_shards_of_their_own(void **state)
{
	static const uint64_t none[GGML_AXES] = { 0, 1, 1, 1 };
	struct mkgguf *m = mkgguf_new(3);
	struct mk_file file;

	(void)state;
	mkgguf_tensor(m, "a", GGML_F32, 1, none);
	mkgguf_tensor(m, "b", GGML_F32, 1, none);
	file = mkgguf_finish(m);
	assert_int_equal(assert_round_trip(&file, 0), 3);
	mk_file_free(&file);
}

static void an_alignment_is_kept(void **state)
{
	static const uint32_t alignments[] = { 1, 8, 32, 64, 4096 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(alignments); i++) {
		struct mk_file file = make(5, alignments[i]);

		assert_round_trip(&file, 130);
		mk_file_free(&file);
	}
}

static void unsplittable_file_is_refused(void **state)
{
	struct mkgguf *m = mkgguf_new(3);
	struct division division;
	struct error err = { 0 };
	struct mk_file file;
	struct gguf *gguf;
	static const uint64_t row[GGML_AXES] = { 10, 1, 1, 1 };

	(void)state;
	mkgguf_kv_u32(m, "a", 1);
	file = mkgguf_finish(m);
	gguf = read_bytes(file.bytes, file.size);
	assert_refused(divide_build(gguf, 100, &division, &err), &err, EINVAL, ERROR_NO_OFFSET);
	gguf_free(gguf);
	mk_file_free(&file);
	m = mkgguf_new(1);
	mkgguf_tensor(m, "t", GGML_F32, 1, row);
	file = mkgguf_finish(m);
	gguf = read_bytes(file.bytes, file.size);
	assert_refused(divide_build(gguf, 100, &division, &err), &err, ENOTSUP, ERROR_NO_OFFSET);
	gguf_free(gguf);
	mk_file_free(&file);
}

static void each_failing_allocation_is_reported(void **state)
{
	struct mk_file file;
	struct gguf *whole;

	(void)state;
	needs_failing_allocations();
	file = make(5, 32);
	whole = read_bytes(file.bytes, file.size);
	for (uint64_t k = 1;; k++) {
		struct error err = { 0 };
		struct division division;
		int rc;

		allocation_fails(k);
		rc = divide_build(whole, 100, &division, &err);
		if (!allocation_failed()) {
			assert_int_equal(rc, 0);
			divide_release(&division);
			break;
		}
		assert_refused(rc, &err, ENOMEM, ERROR_NO_OFFSET);
	}
	gguf_free(whole);
	mk_file_free(&file);
}

UNIT_MAIN(NULL, NULL)
