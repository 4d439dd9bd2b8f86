/* SPDX-License-Identifier: MIT */
/* test_merge_models.c - fs/merge/merge_models.c: models by their names in a configuration. */
#include "fs/base/base.h"
#include "fs/merge/merge_models.h"
#include "gguf/reader.h"
#include "tests/unit/small_gguf.h"

static void a_name_of_hugging_face_is_two_words(void **state)
{
	static const char *const ids[] = { "mistralai/Mistral-7B-v0.1", "a/b",
					   "Qwen/Qwen2.5_7B@main", "0x/y..z" };
	static const char *const others[] = { "",	  "a",	      "a/",	 "/a",
					      "/a/b",	  "./b",      "../b",	 "a/.b",
					      "a/b/c",	  "~/b",      "a b/c",	 "a/b c",
					      "a/b.gguf", "a/b.GGUF", "a/b.yml", "http://x",
					      "a/b@c/d" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(ids); i++)
		assert_true(merge_looks_like_hub_id(ids[i]));
	for (size_t i = 0; i < ARRAY_LENGTH(others); i++)
		if (merge_looks_like_hub_id(others[i]))
			fail_msg("%s", others[i]);
}

static void open_as(void **state, const char *written, const char *expected)
{
	struct temp *temp = *state;
	struct error err = { 0 };
	struct base base;
	char *path;

	if (merge_open_by_path(temp->dir, written, NULL, &base, &path, &err) < 0)
		fail_msg("%s: %s", written, err.text);
	assert_int_equal(base.gguf->n_tensors, SMALL_TENSORS);
	assert_string_equal(path, in_temp(state, expected).text);
	free(path);
	base_close(&base);
}

static void refuse_as(void **state, const char *written, int code, const char *says)
{
	struct temp *temp = *state;
	struct error err = { 0 };
	struct base base;
	char *path;
	const int rc = merge_open_by_path(temp->dir, written, NULL, &base, &path, &err);

	assert_refused(rc, &err, code, ERROR_NO_OFFSET);
	if (!strstr(err.text, says))
		fail_msg("%s: \"%s\" is not in \"%s\"", written, says, err.text);
	assert_null(path);
	base_close(&base);
}

/* Save two shards of one tensor each; the first one has the metadata. */
static void save_shards(void **state, const char *stem)
{
	const uint64_t ne[2] = { 8, 4 };

	for (uint32_t no = 0; no < 2; no++) {
		struct mkgguf *m = mkgguf_new(3);
		struct mk_file file;
		char name[64];

		mkgguf_kv_u32(m, "split.no", no);
		mkgguf_kv_u32(m, "split.count", 2);
		mkgguf_kv_u32(m, "split.tensors.count", SMALL_TENSORS);
		for (uint32_t i = 0; i < SMALL_TENSORS / 2; i++) {
			static const char *const names[] = { "a", "b", "c", "d", "e", "f" };

			mkgguf_tensor(m, names[no * SMALL_TENSORS / 2 + i], GGML_F32, 2, ne);
		}
		file = mkgguf_finish(m);
		snprintf(name, sizeof(name), "%s-%05u-of-00002.gguf", stem, no + 1);
		save(state, name, &file);
		mk_file_free(&file);
	}
}

static void save_organ(void **state, const char *path, const char *name)
{
	struct organ_file file = mk_organ(name, GGML_F32, 2, small_ne, 1);

	write_file(in_temp(state, path).text, file.bytes, file.size);
	free(file.bytes);
}

static void models_are_found_by_names_as_written(void **state)
{
	char text[PATH_MAX + 16];

	save_small(state, "small.gguf");
	must(mkdir(in_temp(state, "sub").text, 0700) == 0);
	save_small(state, "sub/model.gguf");
	open_as(state, "small.gguf", "small.gguf");
	open_as(state, "small", "small.gguf");
	open_as(state, "sub/model", "sub/model.gguf");
	open_as(state, "./small", "./small.gguf");
	open_as(state, in_temp(state, "small").text, "small.gguf");
	snprintf(text, sizeof(text), "file://%s", in_temp(state, "small.gguf").text);
	open_as(state, text, "small.gguf");
	save_shards(state, "parts");
	open_as(state, "parts-00002-of-00002", "parts-00002-of-00002.gguf");
	open_as(state, "parts", "parts-00001-of-00002.gguf");
	open_as(state, "parts.gguf", "parts-00001-of-00002.gguf");
}

static void a_directory_of_organ_files_is_a_model(void **state)
{
	struct temp *temp = *state;
	struct error err = { 0 };
	struct base base;
	char *path;

	must(mkdir(in_temp(state, "organs_of").text, 0700) == 0);
	must(mkdir(in_temp(state, "organs_of/skeleton").text, 0700) == 0);
	save_organ(state, "organs_of/skeleton/blk_0_attn_q.bin", "blk.0.attn_q.weight");
	assert_int_equal(merge_open_by_path(temp->dir, "organs_of", NULL, &base, &path, &err), 0);
	assert_int_equal(base.gguf->n_tensors, 1);
	free(path);
	base_close(&base);
}

static void file_that_is_no_model_is_refused_in_a_sentence(void **state)
{
	save_small(state, "small.gguf");
	must(mkdir(in_temp(state, "directory").text, 0700) == 0);
	write_text(in_temp(state, "merge.yml").text, "merge_method: linear\n");
	write_text(in_temp(state, "text.gguf").text, "this is no GGUF, and long enough to see it");
	save_small(state, "-00001-.gguf");
	refuse_as(state, "absent/", ENOENT, "there is no file \"absent/\"");
	refuse_as(state, "absent", ENOENT, "there is no file \"absent\"");
	refuse_as(state, "small.gguf/x", ENOENT, "no file");
	refuse_as(state, "mistralai/Mistral-7B-v0.1", ENOENT, "Hugging Face");
	refuse_as(state, "merge.yml", EINVAL, "is a configuration");
	refuse_as(state, "directory", EINVAL, "is a directory");
	refuse_as(state, "text", EBADMSG, "\"text\" cannot be read: at byte 0");
	refuse_as(state, "file:small.gguf", EINVAL, "no file of this machine");
	must(mkfifo(in_temp(state, "fifo.gguf").text, 0600) == 0);
	refuse_as(state, "fifo", EINVAL, "regular file");
}

static void credentials_of_a_url_are_in_no_message(void **state)
{
	struct temp *temp = *state;
	struct error err = { 0 };
	struct base base;
	char *path;

	/* Port 1 has no server. */
	assert_true(merge_open_by_path(temp->dir,
				       "http://me:secret@127.0.0.1:1/a.gguf?token=secret", NULL,
				       &base, &path, &err) < 0);
	assert_non_null(strstr(err.text, "127.0.0.1:1/a.gguf"));
	assert_null(strstr(err.text, "secret"));
	base_close(&base);
}

static void without_memory_no_model_is_opened(void **state)
{
	static const char *const written[] = { "small.gguf", "small", "mistralai/Mistral-7B-v0.1" };
	struct temp *temp = *state;

	needs_failing_allocations();
	save_small(state, "small.gguf");
	for (size_t i = 0; i < ARRAY_LENGTH(written); i++)
		for (uint64_t k = 1;; k++) {
			struct error err = { 0 };
			struct base base;
			char *path;
			int rc;

			allocation_fails(k);
			rc = merge_open_by_path(temp->dir, written[i], NULL, &base, &path, &err);
			base_close(&base);
			free(path);
			if (!allocation_failed()) {
				assert_int_equal(rc, i < 2 ? 0 : -ENOENT);
				break;
			}
			assert_refused(rc, &err, ENOMEM, ERROR_NO_OFFSET);
		}
}

UNIT_MAIN(temp_setup, temp_teardown)
