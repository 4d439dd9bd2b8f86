/* SPDX-License-Identifier: MIT */
/* test_checksums.c - fs/files/checksums.c: one line an organ in force, and only those that are read
 * are hashed. */
#include "fs/files/checksums.h"
#include "tests/unit/hashes.h"

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
	assert_true(tensor_hashes_count(hashes) <= n); /* what a graft holds was hashed before */
	free(text);
	view_unref(view);
	tensor_hashes_free(hashes);
}

static void lines_are_by_class_of_what_is_there(void **state)
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

static void a_line_that_cannot_be_made_is_an_error(void **state)
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

static void it_shows_what_was_in_force_when_it_was_made(void **state)
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

UNIT_MAIN(temp_setup, temp_teardown)
