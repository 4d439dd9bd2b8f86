/* SPDX-License-Identifier: MIT */
/* test_checksums.c - fs/files/checksums.c: a line for each organ in force, which is hashed when
 * the line is read; a line for each tensor in the order of model.gguf, and one for the model. */
#include "fs/files/checksums.h"
#include "fs/model/model.h"
#include "tests/unit/hashes.h"

#include <pthread.h>

static struct view *checksums_now(struct model *model, struct tensor_hashes *hashes)
{
	struct snapshot snapshot;
	struct view *view;

	must(slots_snapshot(model->slots, &snapshot) == 0);
	view = checksums_view(model, hashes, &snapshot);
	snapshot_release(&snapshot);
	must(view);
	return view;
}

static size_t print_line(char *text, struct model *model, uint32_t tensor)
{
	char path[ORGAN_PATH_MAX], hash[XXH128_TEXT];

	digest_of_slot(model, HASH_FILE, tensor, hash);
	return (size_t)sprintf(text, "%s  %s\n", hash, model_organ_path(model, tensor, path));
}

static void assert_lines(struct model *model, const uint32_t *tensors, size_t n)
{
	struct tensor_hashes *hashes = new_digests(model);
	struct view *view = checksums_now(model, hashes);
	char expected[2048], *text;
	size_t size = 0;

	for (size_t i = 0; i < n; i++)
		size += print_line(expected + size, model, tensors[i]);
	expected[size] = '\0';
	assert_int_equal(view_size(view), size);
	text = read_view(view);
	assert_string_equal(text, expected);
	assert_true(tensor_hashes_count(hashes) <= n); /* a graft was hashed before */
	free(text);
	view_unref(view);
	tensor_hashes_free(hashes);
}

static void lines_are_ordered_by_class(void **state)
{
	static const uint32_t base[] = { SMALL_Q,    SMALL_UP,	  SMALL_GATE,
					 SMALL_DOWN, SMALL_EMBED, SMALL_NORM };
	static const uint32_t grafted[] = { SMALL_Q,	   SMALL_UP,	SMALL_DOWN,
					    SMALL_TENSORS, SMALL_EMBED, SMALL_NORM };
	struct opened o = open_small(state, "base.gguf");

	assert_lines(o.model, base, 6);
	assert_int_equal(fill_up(o.model, 50), 0);
	assert_lines(o.model, base, 6);
	slots_set(o.model->slots, SMALL_GATE, content_new_whiteout());
	add_slot(o.model, "blk_1_ffn_up", "blk.1.ffn_up.weight", SMALL_GATE);
	assert_lines(o.model, grafted, 6);
	close_model(&o);
}

static void a_model_without_tensors_has_no_line(void **state)
{
	struct mk_file file = mkgguf_finish(mkgguf_new(3));
	struct opened o;

	save(state, "base.gguf", &file);
	mk_file_free(&file);
	o = open_model(state, "base.gguf");
	assert_lines(o.model, NULL, 0);
	close_model(&o);
}

static void only_the_organs_whose_hashes_are_read_are_hashed(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct tensor_hashes *hashes = new_digests(o.model);
	struct view *view = checksums_now(o.model, hashes);
	char line[128], bytes[128];
	const size_t first = print_line(line, o.model, SMALL_Q);

	assert_true(view_is_computed(view));
	assert_int_equal(view_read(view, bytes, first - 32, 32), (ssize_t)first - 32);
	assert_memory_equal(bytes, line + 32, first - 32);
	assert_int_equal(tensor_hashes_count(hashes), 0);
	assert_int_equal(view_read(view, bytes, 3, 15), 3);
	assert_memory_equal(bytes, line + 15, 3);
	assert_int_equal(tensor_hashes_count(hashes), 1);
	assert_int_equal(view_read(view, bytes, first + 1, 0), (ssize_t)first + 1);
	assert_int_equal(tensor_hashes_count(hashes), 2);
	close_hashed(&o, hashes, view);
}

static void unreadable_organ_fails_its_line(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct tensor_hashes *hashes = new_digests(o.model);
	struct view *view = checksums_now(o.model, hashes);
	const atomic_bool stop = true;
	char bytes[64];

	change_times(state, "base.gguf");
	assert_int_equal(view_read(view, bytes, 1, 0), -EIO);
	assert_int_equal(view_read(view, bytes, 64, 31), -EIO);
	restore_times(state, "base.gguf");
	assert_int_equal(view_read(view, bytes, 64, 31), 64);
	assert_int_equal(view_read_cancellable(view, bytes, 1, 0, &stop), -EINTR);
	close_hashed(&o, hashes, view);
}

static void open_list_keeps_its_snapshot(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct tensor_hashes *hashes = new_digests(o.model);
	struct view *view;
	char before[128], *text;

	assert_int_equal(fill_up(o.model, 50), 0);
	view = checksums_now(o.model, hashes);
	print_line(before, o.model, SMALL_UP);
	slots_set(o.model->slots, SMALL_UP, NULL);
	text = read_view(view);
	assert_non_null(strstr(text, before));
	free(text);
	close_hashed(&o, hashes, view);
}

static void without_memory_there_is_no_file(void **state)
{
	assert_needs_memory(state, checksums_view);
}

static struct view *lines_now(struct model *model, struct tensor_hashes *hashes,
			      const atomic_bool *ending)
{
	struct snapshot snapshot;
	struct view *view;

	must(slots_snapshot(model->slots, &snapshot) == 0);
	view = checksums_gguf_hash(model, hashes, &snapshot, ending);
	snapshot_release(&snapshot);
	must(view);
	return view;
}

/* Hash the data of all these slots, one after another. */
static void hash_all(struct model *model, const uint32_t *tensors, size_t n, char text[17])
{
	XXH64_state_t *hash = XXH64_createState();

	must(hash);
	XXH64_reset(hash, 0);
	for (size_t i = 0; i < n; i++) {
		struct content *content = slots_get(model->slots, tensors[i]);
		const size_t header = (size_t)model_organ(model, tensors[i], content).header_size;
		size_t size;
		char *bytes = read_organ(model, tensors[i], &size);

		XXH64_update(hash, bytes + header, size - header);
		free(bytes);
		content_unref(content);
	}
	xxh64_text(XXH64_digest(hash), text);
	XXH64_freeState(hash);
}

static void assert_tensor_lines(struct model *model, const uint32_t *tensors, size_t n,
				const char *const *names)
{
	struct tensor_hashes *hashes = new_digests(model);
	struct view *view = lines_now(model, hashes, NULL);
	char expected[2048], hash[XXH128_TEXT], *text;
	size_t size = 0;

	for (size_t i = 0; i < n; i++) {
		digest_of_slot(model, HASH_DATA, tensors[i], hash);
		size += (size_t)sprintf(expected + size, "xxh64     %s  model.gguf:%s\n", hash,
					names[i]);
	}
	hash_all(model, tensors, n, hash);
	size += (size_t)sprintf(expected + size, "xxh64     %s  model.gguf\n", hash);
	assert_int_equal(view_size(view), size);
	text = read_view(view);
	assert_string_equal(text, expected);
	assert_true(tensor_hashes_count(hashes) <= n); /* a graft was hashed before */
	free(text);
	view_unref(view);
	tensor_hashes_free(hashes);
}

static void lines_are_in_file_order_and_added_ones_last_by_name(void **state)
{
	static const char *const names[] = { "token_embd.weight",     "blk.0.attn_q.weight",
					     "blk.0.ffn_up.weight",   "blk.0.ffn_gate.weight",
					     "blk.0.ffn_norm.weight", "blk.0.ffn_down.weight" };
	static const uint32_t base[] = { 0, 1, 2, 3, 4, 5 };
	static const char *const other_names[] = { "token_embd.weight",	    "blk.0.ffn_up.weight",
						   "blk.0.ffn_gate.weight", "blk.0.ffn_norm.weight",
						   "blk.0.ffn_down.weight", "blk.1.ffn_gate.weight",
						   "blk.1.ffn_up",	    "blk.1.ffn_up.weight" };
	static const uint32_t other[] = { 0, 2, 3, 4, 5, 8, 7, 6 };
	struct opened o = open_small(state, "base.gguf");

	assert_tensor_lines(o.model, base, 6, names);
	assert_int_equal(fill_up(o.model, 50), 0);
	assert_tensor_lines(o.model, base, 6, names);
	slots_set(o.model->slots, SMALL_Q, content_new_whiteout());
	add_slot(o.model, "blk_1_ffn_up", "blk.1.ffn_up.weight", SMALL_UP);
	add_slot(o.model, "blk_1_ffn_up2", "blk.1.ffn_up", SMALL_EMBED);
	add_slot(o.model, "blk_1_ffn_gate", "blk.1.ffn_gate.weight", SMALL_DOWN);
	assert_tensor_lines(o.model, other, 8, other_names);
	close_model(&o);
}

static void a_model_without_tensors_has_one_line(void **state)
{
	struct mk_file file = mkgguf_finish(mkgguf_new(3));
	struct opened o;

	save(state, "base.gguf", &file);
	mk_file_free(&file);
	o = open_model(state, "base.gguf");
	assert_tensor_lines(o.model, NULL, 0, NULL);
	close_model(&o);
}

static void any_name_is_one_line(void **state)
{
	static const char *const names[] = { "a%0Ab%7F%\xc3\xa9 c" };
	static const uint32_t tensors[] = { 0 };
	struct mkgguf *m = mkgguf_new(3);
	struct mk_file file;
	struct opened o;

	mkgguf_tensor(m, "a\nb\x7f%\xc3\xa9 c", GGML_F32, 2, small_ne);
	file = mkgguf_finish(m);
	save(state, "base.gguf", &file);
	mk_file_free(&file);
	o = open_model(state, "base.gguf");
	assert_tensor_lines(o.model, tensors, 1, names);
	close_model(&o);
}

/* Offset of the hash of the whole model. */
static uint64_t whole_at(const struct view *view)
{
	return view_size(view) - strlen("0123456789abcdef  model.gguf\n");
}

static void only_read_lines_are_hashed(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct tensor_hashes *hashes = new_digests(o.model);
	struct view *view = lines_now(o.model, hashes, NULL);
	char bytes[64], hash[XXH128_TEXT];

	assert_int_equal(view_read(view, bytes, 10, 0), 10);
	assert_memory_equal(bytes, "xxh64     ", 10);
	assert_int_equal(tensor_hashes_count(hashes), 0);
	assert_int_equal(view_read(view, bytes, 1, 11), 1);
	assert_int_equal(tensor_hashes_count(hashes), 1);
	hash_all(o.model, (const uint32_t[]){ 0, 1, 2, 3, 4, 5 }, 6, hash);
	assert_int_equal(view_read(view, bytes, 64, whole_at(view) + 3), 26);
	assert_memory_equal(bytes, hash + 3, 13);
	assert_int_equal(tensor_hashes_count(hashes), 1);
	close_hashed(&o, hashes, view);
}

static void unreadable_tensor_fails_its_hash(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct tensor_hashes *hashes = new_digests(o.model);
	atomic_bool ending = false;
	struct view *view = lines_now(o.model, hashes, &ending);
	const atomic_bool stop = true;
	char bytes[32];

	assert_int_equal(view_read_cancellable(view, bytes, 1, whole_at(view), &stop), -EINTR);
	change_times(state, "base.gguf");
	assert_int_equal(view_read(view, bytes, 32, 0), -EIO);
	assert_int_equal(view_read(view, bytes, 1, whole_at(view)), -EIO);
	restore_times(state, "base.gguf");
	atomic_store(&ending, true);
	assert_int_equal(view_read(view, bytes, 1, whole_at(view)), -EINTR);
	atomic_store(&ending, false);
	assert_int_equal(view_read(view, bytes, 1, whole_at(view)), 1);
	/* Successful results are kept. */
	change_times(state, "base.gguf");
	assert_int_equal(view_read(view, bytes, 16, whole_at(view)), 16);
	/* The job may finish before the reader's interrupt. */
	assert_int_equal(view_read_cancellable(view, bytes, 32, 0, &stop), -EINTR);
	close_hashed(&o, hashes, view);
}

struct reader {
	struct view *view;
	atomic_bool stop;
	int result;
};

static void *read_the_last(void *argument)
{
	struct reader *reader = argument;
	char byte;

	reader->result = (int)view_read_cancellable(reader->view, &byte, 1, whole_at(reader->view),
						    &reader->stop);
	return NULL;
}

/* One reader makes the line, the others wait; each can be interrupted. */
static void wait_for_last_line_can_be_interrupted(void **state)
{
	struct reader readers[4];
	pthread_t threads[4];
	struct tensor_hashes *hashes;
	struct opened o;
	struct view *view;

	save_hole(state, "base.gguf", GGML_F32, (uint64_t)1 << 40);
	o = open_model(state, "base.gguf");
	hashes = new_digests(o.model);
	view = lines_now(o.model, hashes, NULL);
	for (int i = 0; i < 4; i++) {
		readers[i] = (struct reader){ .view = view };
		must(pthread_create(&threads[i], NULL, read_the_last, &readers[i]) == 0);
	}
	for (int i = 0; i < 4; i++) {
		atomic_store(&readers[i].stop, true);
		pthread_join(threads[i], NULL);
		assert_int_equal(readers[i].result, -EINTR);
	}
	close_hashed(&o, hashes, view);
}

static struct view *lines_of(struct model *model, struct tensor_hashes *hashes,
			     const struct snapshot *snapshot)
{
	return checksums_gguf_hash(model, hashes, snapshot, NULL);
}

static void without_memory_there_is_no_hash_of_tensors(void **state)
{
	assert_needs_memory(state, lines_of);
}

UNIT_MAIN(temp_setup, temp_teardown)
