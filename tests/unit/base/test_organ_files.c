/* SPDX-License-Identifier: MIT */
/* test_organ_files.c - fs/base/organ_files.c: which files of a directory are a model's tensors. */
#include "fs/base/base.h"
#include "fs/base/organ_files.h"
#include "fs/base/shards.h"
#include "fs/storage/backing.h"
#include "gguf/organ.h"
#include "gguf/reader.h"
#include "tests/unit/temp_dir.h"

#include <errno.h>

static const uint64_t row[GGML_AXES] = { 8, 1, 1, 1 };

static void save_organ(void **state, const char *file, const char *tensor)
{
	struct gguf_tensor t = { .name = tensor,
				 .name_length = (uint32_t)strlen(tensor),
				 .dims = 1,
				 .ne = { 8, 1, 1, 1 },
				 .size = 32 };
	const struct organ organ = organ_of_tensor(&t);
	uint8_t bytes[256] = { 0 };

	organ_write_header(&organ, bytes);
	memset(bytes + organ.header_size, tensor[4], 32);
	write_file(in_temp(state, file).text, bytes, (size_t)(organ.header_size + 32));
}

static void make_directory(void **state, const char *name)
{
	must(mkdir(in_temp(state, name).text, 0700) == 0);
}

/* The header of a model with these two tensors, and no data. */
static void save_header(void **state, const char *a, const char *b)
{
	struct mkgguf *m = mkgguf_new(3);
	struct mk_file made;

	mkgguf_kv_string(m, "general.architecture", "llama");
	mkgguf_tensor(m, a, 0, 1, row);
	mkgguf_tensor(m, b, 0, 1, row);
	made = mkgguf_finish(m);
	write_file(in_temp(state, "m/header.gguf").text, made.bytes, made.data_at);
	mk_file_free(&made);
}

static void make_model(void **state)
{
	make_directory(state, "m");
	make_directory(state, "m/organs");
	save_organ(state, "m/organs/blk_9_ffn_up.bin", "blk.9.ffn_up.weight");
	save_organ(state, "m/organs/blk_10_ffn_up.bin", "blk.10.ffn_up.weight");
}

static int open_with(struct base *base, const char *path, const char *header, struct error *err)
{
	return base_open_with(base, path, &(struct base_options){ .header = header }, err);
}

static struct base open_model(void **state, struct error *err)
{
	struct base base;

	if (base_open(&base, in_temp(state, "m").text, err) < 0)
		fail_msg("%s", err->text);
	return base;
}

static void directory_with_organs_is_a_model(void **state)
{
	make_directory(state, "m");
	assert_false(organ_files_are_in(in_temp(state, "m").text));
	make_directory(state, "m/organs");
	assert_false(organ_files_are_in(in_temp(state, "m").text));
	write_text(in_temp(state, "m/organs/.hidden.bin").text, "");
	write_text(in_temp(state, "m/organs/x.theta").text, "");
	assert_false(organ_files_are_in(in_temp(state, "m").text));
	write_text(in_temp(state, "m/header.gguf").text, "");
	assert_true(organ_files_are_in(in_temp(state, "m").text));
	must(unlink(in_temp(state, "m/header.gguf").text) == 0);
	write_text(in_temp(state, "m/organs/pytorch.bin").text, "a file of others");
	assert_false(organ_files_are_in(in_temp(state, "m").text));
	save_organ(state, "m/organs/blk_1_ffn_up.bin", "blk.1.ffn_up.weight");
	assert_true(organ_files_are_in(in_temp(state, "m").text));
}

static void a_model_named_header_beside_no_organs_is_a_file(void **state)
{
	struct mkgguf *m = mkgguf_new(3);
	struct mk_file made;
	struct error err = { 0 };
	struct base base;

	mkgguf_tensor(m, "output.weight", 0, 1, row);
	made = mkgguf_finish(m);
	write_file(in_temp(state, "header.gguf").text, made.bytes, made.size);
	assert_int_equal(base_open(&base, in_temp(state, "header.gguf").text, &err), 0);
	assert_null(base.shards);
	base_close(&base);
	mk_file_free(&made);
}

static void the_header_says_which_tensors_there_are(void **state)
{
	struct error err = { 0 };
	struct base base;
	uint8_t bytes[32];

	make_model(state);
	save_header(state, "blk.10.ffn_up.weight", "blk.9.ffn_up.weight");
	base = open_model(state, &err);
	assert_true(shards_are_complete(base.shards));
	assert_true(shards_are_organs(base.shards));
	assert_int_equal(base.gguf->n_tensors, 2);
	assert_string_equal(base.gguf->tensors[0].name, "blk.10.ffn_up.weight");
	assert_int_equal(backing_read(base.file, bytes, 32, base.gguf->tensors[1].offset), 0);
	assert_int_equal(bytes[31], '9');
	base_close(&base);
	assert_int_equal(base_open(&base, in_temp(state, "m/header.gguf").text, &err), 0);
	assert_true(shards_are_organs(base.shards));
	base_close(&base);
}

static void a_file_says_by_its_name_which_tensor_it_is(void **state)
{
	struct error err = { 0 };
	struct base base;

	make_model(state);
	save_header(state, "blk.9.ffn_up.weight", "blk.10.ffn_up.weight");
	save_organ(state, "m/organs/blk_9_ffn_up.bin", "blk.3.ffn_up.weight");
	save_organ(state, "m/organs/blk_11_ffn_up.bin", "blk.3.ffn_up.weight");
	base = open_model(state, &err);
	assert_true(shards_are_complete(base.shards));
	assert_int_equal(base.gguf->n_tensors, 3);
	assert_string_equal(base.gguf->tensors[0].name, "blk.9.ffn_up.weight");
	assert_string_equal(base.gguf->tensors[2].name, "blk.11.ffn_up.weight");
	base_close(&base);
}

static void files_that_are_no_organs_are_skipped(void **state)
{
	struct error err = { 0 };
	struct organ_files *files;

	make_model(state);
	save_organ(state, "m/organs/foo.bin", "blk.3.ffn_up.weight");
	write_text(in_temp(state, "m/organs/bar.bin").text, "no organ");
	files = organ_files_find(in_temp(state, "m").text, NULL, &err);
	assert_non_null(files);
	assert_int_equal(files->n, 2);
	assert_int_equal(files->n_all, 4);
	assert_string_equal(files->entries[0].file, "organs/blk_9_ffn_up.bin");
	assert_string_equal(files->entries[1].file, "organs/blk_10_ffn_up.bin");
	assert_non_null(strstr(files->entries[2].why, "not an organ file"));
	assert_non_null(strstr(files->entries[3].why, "another file name belongs"));
	organ_files_unref(files);
}

static void missing_or_damaged_organ_is_named(void **state)
{
	struct error err = { 0 };
	struct base base;
	char *text;

	make_model(state);
	save_header(state, "blk.9.ffn_up.weight", "blk.10.ffn_up.weight");
	must(truncate(in_temp(state, "m/organs/blk_10_ffn_up.bin").text, 50) == 0);
	must(unlink(in_temp(state, "m/organs/blk_9_ffn_up.bin").text) == 0);
	save_organ(state, "m/organs/blk_8_ffn_up.bin", "blk.8.ffn_up.weight");
	base = open_model(state, &err);
	assert_false(shards_are_complete(base.shards));
	assert_int_equal(base.gguf->n_tensors, 1);
	text = shards_missing_text(base.shards);
	assert_non_null(strstr(text, "organs/blk_9_ffn_up.bin, organs/blk_10_ffn_up.bin (at byte"));
	free(text);
	base_close(&base);
}

/* The directory of a class may be a link, and so may a file; no one opens a FIFO. */
static void organs_may_be_links(void **state)
{
	struct error err = { 0 };
	struct base base;
	char *real;

	make_model(state);
	save_header(state, "blk.9.ffn_up.weight", "blk.10.ffn_up.weight");
	must(rename(in_temp(state, "m/organs/blk_9_ffn_up.bin").text,
		    in_temp(state, "nine").text) == 0);
	must(symlink("../../nine", in_temp(state, "m/organs/blk_9_ffn_up.bin").text) == 0);
	must(mkfifo(in_temp(state, "m/organs/blk_8_ffn_up.bin").text, 0600) == 0);
	for (int linked = 0; linked < 2; linked++) {
		uint64_t offset, length = 1;

		if (linked) {
			must(rename(in_temp(state, "m/organs").text,
				    in_temp(state, "m/away").text) == 0);
			must(symlink("away", in_temp(state, "m/organs").text) == 0);
		}
		base = open_model(state, &err);
		assert_int_equal(base.gguf->n_tensors, 2);
		assert_true(shards_are_complete(base.shards));
		offset = base.gguf->tensors[1].offset;
		real = realpath(in_temp(state, linked ? "m/away/blk_10_ffn_up.bin"
						      : "m/organs/blk_10_ffn_up.bin")
					.text,
				NULL);
		assert_string_equal(backing_path(backing_file_at(base.file, &offset, &length)),
				    real);
		free(real);
		base_close(&base);
	}
}

static void organs_without_header_lack_only_the_header(void **state)
{
	struct error err = { 0 };
	struct base base;
	char *text;

	make_model(state);
	base = open_model(state, &err);
	assert_false(shards_are_complete(base.shards));
	assert_int_equal(base.gguf->n_tensors, 2);
	assert_int_equal(base.gguf->n_kv, 0);
	text = shards_missing_text(base.shards);
	assert_string_equal(text, "the model lacks header.gguf");
	free(text);
	base_close(&base);
}

static void a_header_can_be_lent(void **state)
{
	struct error err = { 0 };
	struct base base;

	make_model(state);
	save_header(state, "blk.10.ffn_up.weight", "blk.9.ffn_up.weight");
	must(rename(in_temp(state, "m/header.gguf").text, in_temp(state, "lent.gguf").text) == 0);
	assert_int_equal(open_with(&base, in_temp(state, "m").text,
				   in_temp(state, "lent.gguf").text, &err),
			 0);
	assert_true(shards_are_complete(base.shards));
	assert_int_equal(base.gguf->n_kv, 1);
	base_close(&base);
	assert_int_equal(open_with(&base, in_temp(state, "m").text,
				   in_temp(state, "none.gguf").text, &err),
			 -ENOENT);
	assert_non_null(strstr(err.text, "none.gguf"));
	base_close(&base);
}

static void a_header_that_comes_later_has_to_be_of_these_organs(void **state)
{
	struct error err = { 0 };
	struct shards *shards;
	struct base base;
	char *text;

	make_model(state);
	base = open_model(state, &err);
	save_header(state, "blk.9.ffn_up.weight", "blk.11.ffn_up.weight");
	shards = shards_rescan(base.shards);
	assert_null(shards);
	text = shards_missing_text(base.shards);
	assert_non_null(strstr(text, "header.gguf (its tensors have changed"));
	free(text);
	base_close(&base);
}

static void a_damaged_header_is_missing(void **state)
{
	struct error err = { 0 };
	struct base base;
	char *text;

	make_model(state);
	write_text(in_temp(state, "m/header.gguf").text, "GGUF, but no more");
	base = open_model(state, &err);
	assert_int_equal(base.gguf->n_tensors, 2);
	text = shards_missing_text(base.shards);
	assert_non_null(strstr(text, "the model lacks header.gguf (at byte 4: GGUF version"));
	free(text);
	base_close(&base);
	assert_int_equal(open_with(&base, in_temp(state, "m").text,
				   in_temp(state, "m/header.gguf").text, &err),
			 -ENOTSUP);
	assert_non_null(strstr(err.text, "m/header.gguf: GGUF version"));
	base_close(&base);
}

/* A layer is found by the base's files, and a lent header is none of these. */
static void a_lent_header_is_no_file_of_the_model(void **state)
{
	struct error err = { 0 };
	struct base base;

	make_model(state);
	save_header(state, "blk.10.ffn_up.weight", "blk.9.ffn_up.weight");
	must(rename(in_temp(state, "m/header.gguf").text, in_temp(state, "lent.gguf").text) == 0);
	assert_int_equal(open_with(&base, in_temp(state, "m").text,
				   in_temp(state, "lent.gguf").text, &err),
			 0);
	assert_non_null(strstr(backing_path(base.file), "/m/organs/blk_10_ffn_up.bin"));
	assert_string_equal(backing_path(backing_first_readable(base.file)),
			    backing_path(base.file));
	base_close(&base);
}

static void an_organ_comes_back_after_the_header_went(void **state)
{
	struct error err = { 0 };
	struct shards *gone, *back;
	struct base base;

	make_model(state);
	save_header(state, "blk.9.ffn_up.weight", "blk.10.ffn_up.weight");
	must(rename(in_temp(state, "m/organs/blk_9_ffn_up.bin").text,
		    in_temp(state, "away").text) == 0);
	base = open_model(state, &err);
	must(unlink(in_temp(state, "m/header.gguf").text) == 0);
	gone = shards_rescan(base.shards);
	base_close(&base);
	assert_non_null(gone);
	shards_revoke_gone(gone);
	must(rename(in_temp(state, "away").text,
		    in_temp(state, "m/organs/blk_9_ffn_up.bin").text) == 0);
	back = shards_rescan(gone);
	assert_non_null(back);
	assert_int_equal(base_open_shards(&base, back, &err), 0);
	assert_int_equal(base.gguf->n_tensors, 2);
	base_close(&base);
	shards_unref(back);
	shards_unref(gone);
}

UNIT_MAIN(temp_setup, temp_teardown)
