/* SPDX-License-Identifier: MIT */
/* test_tensor_hashes.c - fs/lazy/tensor_hashes.c: the hashes of organs. test_tensor_measures.c
 * tests that the memo computes a result once. */
#include "fs/lazy/memo.h"
#include "fs/util/halt.h"
#include "tests/unit/hashes.h"
#include "tests/unit/tasks.h"

static void a_digest_is_the_hash_of_the_file_or_of_its_data(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct tensor_hashes *hashes = new_digests(o.model);

	for (enum hash_kind kind = 0; kind < HASH_KINDS; kind++)
		for (uint32_t i = 0; i < SMALL_TENSORS; i++) {
			const struct subject subject = { i, NULL };
			char expected[XXH128_TEXT], text[XXH128_TEXT];

			digest_of_slot(o.model, kind, i, expected);
			assert_int_equal(tensor_hashes_get(hashes, kind, &subject, NULL, text), 0);
			assert_string_equal(text, expected);
			assert_int_equal(strlen(text), tensor_hash_width(kind));
			assert_int_equal(tensor_hashes_count(hashes), kind * SMALL_TENSORS + i + 1);
			assert_int_equal(memo_prepare(hashes->kinds[kind], &subject, 1, NULL), 0);
			assert_int_equal(tensor_hashes_count(hashes), kind * SMALL_TENSORS + i + 1);
		}
	tensor_hashes_free(hashes);
	tensor_hashes_free(NULL);
	close_model(&o);
}

/* The organ has several different chunks, and a rest. */
static void a_large_organ_is_hashed_in_pieces(void **state)
{
	static const uint64_t ne[] = { 1000003 };
	struct mkgguf *m = mkgguf_new(3);
	const struct subject subject = { 0, NULL };
	char expected[XXH128_TEXT], text[XXH128_TEXT];
	struct tensor_hashes *hashes;
	struct mk_file file;
	struct opened o;

	mkgguf_tensor(m, "blk.0.ffn_up.weight", GGML_F32, 1, ne);
	file = mkgguf_finish(m);
	save(state, "base.gguf", &file);
	mk_file_free(&file);
	o = open_model(state, "base.gguf");
	hashes = new_digests(o.model);
	for (enum hash_kind kind = 0; kind < HASH_KINDS; kind++) {
		digest_of_slot(o.model, kind, 0, expected);
		assert_int_equal(tensor_hashes_get(hashes, kind, &subject, NULL, text), 0);
		assert_string_equal(text, expected);
	}
	tensor_hashes_free(hashes);
	close_model(&o);
}

static void graft_has_own_hash_and_base_keeps_its_hash(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct tensor_hashes *hashes = new_digests(o.model);
	struct subject base = { SMALL_UP, NULL }, graft = { SMALL_UP, NULL };
	char before[XXH128_TEXT], expected[XXH128_TEXT], text[XXH128_TEXT];

	assert_int_equal(tensor_hashes_get(hashes, HASH_FILE, &base, NULL, before), 0);
	assert_int_equal(fill_up(o.model, 77), 0);
	graft.content = slots_get(o.model->slots, SMALL_UP);
	digest_of_slot(o.model, HASH_FILE, SMALL_UP, expected);
	assert_string_not_equal(before, expected);
	assert_int_equal(tensor_hashes_get(hashes, HASH_FILE, &graft, NULL, text), 0);
	assert_string_equal(text, expected);
	assert_int_equal(tensor_hashes_get(hashes, HASH_FILE, &base, NULL, text), 0);
	assert_string_equal(text, before);
	assert_int_equal(tensor_hashes_count(hashes), 2);
	tensor_hashes_free(hashes);
	assert_int_equal(graft.content->refs, 2);
	content_unref(graft.content);
	close_model(&o);
}

static void unreadable_content_has_no_hash_until_it_is_readable(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct tensor_hashes *hashes = new_digests(o.model);
	const struct subject subject = { SMALL_UP, NULL };
	char expected[XXH128_TEXT], text[XXH128_TEXT];
	XXH64_state_t *hash = XXH64_createState();

	must(hash);
	XXH64_reset(hash, 0);
	digest_of_slot(o.model, HASH_FILE, SMALL_UP, expected);
	change_times(state, "base.gguf");
	assert_int_equal(tensor_hashes_get(hashes, HASH_FILE, &subject, NULL, text), -EIO);
	assert_int_equal(tensor_hashes_get(hashes, HASH_DATA, &subject, NULL, text), -EIO);
	assert_int_equal(tensor_hash_data(o.model, &subject, hash, &(struct halt){ 0 }), -EIO);
	restore_times(state, "base.gguf");
	assert_int_equal(tensor_hashes_get(hashes, HASH_FILE, &subject, NULL, text), 0);
	assert_string_equal(text, expected);
	XXH64_freeState(hash);
	tensor_hashes_free(hashes);
	close_model(&o);
}

static void *stop_soon(void *flag)
{
	await_work();
	atomic_store((atomic_bool *)flag, true);
	return NULL;
}

/* Hashing a tensor of this size would take minutes. */
static void wait_for_hash_can_be_interrupted(void **state)
{
	const struct subject subject = { 0, NULL };
	XXH64_state_t *hash = XXH64_createState();
	char text[XXH128_TEXT];
	struct tensor_hashes *hashes;
	struct opened o;

	must(hash);
	XXH64_reset(hash, 0);
	save_hole(state, "base.gguf", GGML_F32, (uint64_t)1 << 40);
	o = open_model(state, "base.gguf");
	hashes = new_digests(o.model);
	for (int round = 0; round < 4; round++) {
		atomic_bool stop = false;
		pthread_t thread;
		int rc;

		must(pthread_create(&thread, NULL, stop_soon, &stop) == 0);
		if (round < 2)
			rc = tensor_hashes_get(hashes, (enum hash_kind)round, &subject, &stop,
					       text);
		else
			rc = tensor_hash_data(o.model, &subject, hash,
					      &(struct halt){ round == 2 ? &stop : NULL,
							      round == 3 ? &stop : NULL });
		assert_int_equal(rc, -EINTR);
		pthread_join(thread, NULL);
	}
	tensor_hashes_stop(hashes);
	assert_int_equal(tensor_hashes_get(hashes, HASH_FILE, &subject, NULL, text), -EINTR);
	tensor_hashes_free(hashes); /* waits for abandoned jobs */
	XXH64_freeState(hash);
	close_model(&o);
}

static void hash_fails_without_memory_and_can_be_repeated(void **state)
{
	const struct subject subject = { SMALL_UP, NULL };
	char expected[XXH128_TEXT], text[XXH128_TEXT];
	XXH64_state_t *hash;
	struct tensor_hashes *hashes;
	struct opened o;
	int rc;

	needs_failing_allocations();
	o = open_small(state, "base.gguf");
	for (uint64_t k = 1;; k++) {
		allocation_fails(k);
		hashes = tensor_hashes_new(o.model, NULL);
		if (!allocation_failed())
			break;
		assert_null(hashes);
	}
	digest_of_slot(o.model, HASH_FILE, SMALL_UP, expected);
	assert_int_equal(tensor_hashes_get(hashes, HASH_FILE, &subject, NULL, text), 0);
	assert_string_equal(text, expected);
	hash = XXH64_createState();
	must(hash);
	for (uint64_t k = 1;; k++) {
		XXH64_reset(hash, 0);
		allocation_fails(k);
		rc = tensor_hash_data(o.model, &subject, hash, &(struct halt){ 0 });
		if (!allocation_failed())
			break;
		assert_int_equal(rc, -ENOMEM);
	}
	assert_int_equal(rc, 0);
	XXH64_freeState(hash);
	tensor_hashes_free(hashes);
	close_model(&o);
}

UNIT_MAIN(temp_setup, temp_teardown)
