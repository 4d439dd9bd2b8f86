/* SPDX-License-Identifier: MIT */
/* test_models.c - fs/mount/models.c: the models of a mount by its command line, and their names. */
#include "fs/mount/models.h"
#include "fs/mount/options.h"
#include "fs/util/log.h"
#include "gguf/reader.h"
#include "tests/unit/open_model.h"

/* Arguments of the command line, below the case's directory, and the models opened. */
struct scene {
	struct path paths[4];
	char *named[4];
	struct options options;
	struct models models;
	struct log *log;
	const char *culprit;
	struct error err;
	int rc;
};

static void open_models(void **state, struct scene *scene, uint32_t n, const char *const names[])
{
	*scene = (struct scene){ .log = log_new(true) };
	must(scene->log && n <= ARRAY_LENGTH(scene->paths));
	for (uint32_t i = 0; i < n; i++) {
		scene->paths[i] = in_temp(state, names[i]);
		scene->named[i] = scene->paths[i].text;
	}
	scene->options.models = scene->named;
	scene->options.n_models = n;
	scene->rc = models_open(&scene->models, &scene->options, scene->log, &scene->culprit,
				&scene->err);
}

static void close_models(struct scene *scene)
{
	models_close(&scene->models);
	log_free(scene->log);
}

/* Check the models' names, in the order of their numbers, each with a blank behind it. */
static void assert_names(const struct scene *scene, const char *expected)
{
	char names[256] = "";

	assert_int_equal(scene->rc, 0);
	for (uint32_t i = 0; i < scene->models.n; i++) {
		assert_int_equal(scene->models.models[i]->number, i);
		strcat(strcat(names, scene->models.models[i]->shown), " ");
	}
	assert_string_equal(names, expected);
	assert_int_equal(scene->models.n_all, scene->models.n);
}

static void make_directory(void **state, const char *name)
{
	must(mkdir(in_temp(state, name).text, 0700) == 0);
}

static void single_file_is_the_root(void **state)
{
	struct scene s;

	save_small(state, "base.gguf");
	open_models(state, &s, 1, (const char *[]){ "base.gguf" });
	assert_names(&s, "base ");
	assert_false(s.models.several);
	close_models(&s);
}

static void models_of_one_name_are_numbered(void **state)
{
	struct scene s;

	make_directory(state, "a");
	make_directory(state, "b");
	save_small(state, "a/base.gguf");
	save_small(state, "b/base.gguf");
	save_small(state, "manifest.json.gguf");
	open_models(state, &s, 3,
		    (const char *[]){ "a/base.gguf", "b/base.gguf", "manifest.json.gguf" });
	assert_names(&s, "base base-2 manifest.json-2 ");
	assert_true(s.models.several);
	close_models(&s);
}

static void directory_holds_models_of_its_subdirectories(void **state)
{
	struct scene s;

	make_directory(state, "d");
	make_directory(state, "d/b");
	make_directory(state, "d/b/deep");
	save_small(state, "d/c.gguf");
	save_small(state, "d/a.GGUF");
	save_small(state, "d/b/inner.gguf");
	save_small(state, "d/b/deep/too-deep.gguf");
	save_small(state, "d/.hidden.gguf");
	write_text(in_temp(state, "d/notes.txt").text, "no model");
	open_models(state, &s, 1, (const char *[]){ "d" });
	assert_names(&s, "a inner c ");
	assert_true(s.models.several);
	assert_int_equal(log_count(s.log), 0);
	close_models(&s);
}

static void save_shard(void **state, const char *name, uint16_t no, uint16_t count)
{
	static const uint64_t row[] = { 8 };
	const uint8_t number[] = { (uint8_t)no, 0 }, of[] = { (uint8_t)count, 0 };
	struct mkgguf *m = mkgguf_new(3);
	struct mk_file made;
	char tensor[32];

	if (no == 0)
		mkgguf_kv_string(m, "general.architecture", "llama");
	mkgguf_kv(m, "split.no", 8, KV_U16, number, sizeof(number));
	mkgguf_kv(m, "split.count", 11, KV_U16, of, sizeof(of));
	mkgguf_kv_u32(m, "split.tensors.count", count);
	snprintf(tensor, sizeof(tensor), "blk.%u.ffn_up.weight", (unsigned)no);
	mkgguf_tensor(m, tensor, GGML_F32, 1, row);
	made = mkgguf_finish(m);
	save(state, name, &made);
	mk_file_free(&made);
}

/* In a directory too, a model has its own shards, and none of another model whose name has the
 * same length. */
static void shards_of_one_are_one_model(void **state)
{
	static const char *const names[] = { "dir/a-00001-of-00002.gguf",
					     "dir/a-00002-of-00002.gguf",
					     "dir/b-00001-of-00002.gguf",
					     "dir/b-00002-of-00002.gguf" };
	struct scene s;

	make_directory(state, "dir");
	for (unsigned i = 0; i < 4; i++)
		save_shard(state, names[i], (uint16_t)(i % 2), 2);
	open_models(state, &s, 1, (const char *const[]){ "dir" });
	assert_names(&s, "a b ");
	close_models(&s);
}

static void other_files_of_a_directory_are_skipped(void **state)
{
	struct scene s;

	make_directory(state, "d");
	save_small(state, "d/b.gguf");
	write_text(in_temp(state, "d/a.gguf").text, "no model");
	open_models(state, &s, 1, (const char *[]){ "d" });
	assert_names(&s, "b ");
	assert_true(log_says(s.log, "d/a.gguf: passed over: "));
	assert_int_equal(s.err.code, 0);
	close_models(&s);
}

static void named_file_that_is_no_model_is_an_error(void **state)
{
	struct scene s;

	save_small(state, "base.gguf");
	make_directory(state, "empty");
	open_models(state, &s, 2, (const char *[]){ "base.gguf", "none.gguf" });
	assert_int_equal(s.rc, -ENOENT);
	assert_int_equal(s.err.code, ENOENT);
	assert_ptr_equal(s.culprit, s.named[1]);
	close_models(&s);
	open_models(state, &s, 2, (const char *[]){ "empty", "base.gguf" });
	assert_int_equal(s.rc, -ENOENT);
	assert_ptr_equal(s.culprit, s.named[0]);
	close_models(&s);
}

static void control_characters_of_a_name_are_encoded(void **state)
{
	struct scene s;

	save_small(state, "a\nb.gguf");
	save_small(state, "c.gguf");
	open_models(state, &s, 2, (const char *[]){ "a\nb.gguf", "c.gguf" });
	assert_names(&s, "a%0Ab c ");
	close_models(&s);
}

UNIT_MAIN(temp_setup, temp_teardown)
