/* SPDX-License-Identifier: MIT */
/* test_model.c - fs/model/model.c: an open base, with tensors under their file names. */
#include "fs/model/inode.h"
#include "fs/storage/backing.h"
#include "gguf/reader.h"
#include "tests/unit/open_model.h"

static bool finds(struct model *model, enum organ_class klass, const char *name, uint32_t expected)
{
	uint32_t tensor;

	return model_find_slot(model, klass, name, strlen(name), &tensor) && tensor == expected;
}

static bool finds_nothing(struct model *model, enum organ_class klass, const char *name)
{
	uint32_t tensor;

	return !model_find_slot(model, klass, name, strlen(name), &tensor);
}

static void tensors_are_found_by_class_and_name(void **state)
{
	struct opened o = open_small(state, "base.gguf");

	assert_true(finds(o.model, CLASS_EMBED, "token_embd", SMALL_EMBED));
	assert_true(finds(o.model, CLASS_SKELETON, "blk_0_attn_q", SMALL_Q));
	assert_true(finds(o.model, CLASS_ORGANS, "blk_0_ffn_up", SMALL_UP));
	assert_true(finds(o.model, CLASS_NORM, "blk_0_ffn_norm", SMALL_NORM));
	assert_true(finds_nothing(o.model, CLASS_ORGANS, "blk_0_attn_q"));
	assert_true(finds_nothing(o.model, CLASS_ORGANS, "blk_0_ffn_up.bin"));
	assert_true(finds_nothing(o.model, CLASS_ORGANS, "blk.0.ffn_up.weight"));
	assert_true(finds_nothing(o.model, CLASS_ORGANS, ""));
	close_model(&o);
}

static void classes_hold_their_tensors_in_file_order(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	char path[ORGAN_PATH_MAX];

	assert_int_equal(o.model->members[CLASS_ORGANS].n, 3);
	assert_int_equal(o.model->members[CLASS_ORGANS].slots[0], SMALL_UP);
	assert_int_equal(o.model->members[CLASS_ORGANS].slots[1], SMALL_GATE);
	assert_int_equal(o.model->members[CLASS_ORGANS].slots[2], SMALL_DOWN);
	assert_int_equal(o.model->members[CLASS_ADAPTERS].n, 0);
	assert_int_equal(o.model->places[SMALL_UP].block, 0);
	assert_int_equal(o.model->places[SMALL_EMBED].block, -1);
	assert_string_equal(model_organ_path(o.model, SMALL_UP, path), "organs/blk_0_ffn_up.bin");
	close_model(&o);
}

/* Open a model of these tensors, of F32. */
static struct opened open_named(void **state, const char *const names[], size_t n)
{
	struct mkgguf *m = mkgguf_new(3);
	struct mk_file file;

	for (size_t i = 0; i < n; i++)
		mkgguf_tensor(m, names[i], GGML_F32, 1, small_row);
	file = mkgguf_finish(m);
	save(state, "named.gguf", &file);
	mk_file_free(&file);
	return open_model(state, "named.gguf");
}

static void tensors_of_one_short_name_keep_their_exact_ones(void **state)
{
	static const char *const names[] = { "blk.0.ffn_up.weight", "blk_0.ffn_up", "blk.0.ffn_up",
					     "blk.0.ffn_gate.weight" };
	struct opened o = open_named(state, names, ARRAY_LENGTH(names));

	assert_string_equal(o.model->places[0].name, "blk.0.ffn_up.weight");
	assert_string_equal(o.model->places[1].name, "blk_0.ffn_up");
	assert_string_equal(o.model->places[2].name, "blk.0.ffn_up");
	assert_string_equal(o.model->places[3].name, "blk_0_ffn_gate");
	for (uint32_t i = 0; i < 4; i++)
		assert_true(finds(o.model, o.model->places[i].klass, o.model->places[i].name, i));
	for (enum organ_class klass = 0; klass < CLASSES; klass++)
		assert_true(finds_nothing(o.model, klass, "blk_0_ffn_up"));
	close_model(&o);
}

static void any_name_makes_a_file_name_of_its_own(void **state)
{
	static const char *const names[] = {
		"../../etc/passwd",
		"..",
		".",
		".hidden",
		"/",
		"a/b",
		"a%2Fb",
		"a b",
		"\xff\xfe",
		"line\nline",
		"x.weight",
		"x",
		"x_weight",
		".weight",
		"%2Eweight",
		"\xce\xb8",
		"X",
	};
	struct opened o = open_named(state, names, ARRAY_LENGTH(names));

	for (uint32_t i = 0; i < ARRAY_LENGTH(names); i++) {
		const char *name = o.model->places[i].name;

		assert_null(strchr(name, '/'));
		assert_int_not_equal(name[0], '.');
		assert_int_not_equal(name[0], '\0');
		for (const char *c = name; *c; c++)
			assert_between(*c, '!', '~');
		assert_true(finds(o.model, o.model->places[i].klass, name, i));
		for (uint32_t k = 0; k < i; k++)
			assert_string_not_equal(name, o.model->places[k].name);
	}
	close_model(&o);
}

static void a_model_of_many_tensors_is_opened_whole(void **state)
{
	enum { MANY = 3000 };
	char(*names)[32] = calloc(MANY, sizeof(*names));
	const char **borrowed = calloc(MANY, sizeof(*borrowed));
	struct opened o;

	for (int i = 0; i < MANY; i++) {
		snprintf(names[i], sizeof(names[i]), "blk.%d.ffn_%s.weight", i / 2,
			 i % 2 ? "up" : "down");
		borrowed[i] = names[i];
	}
	o = open_named(state, borrowed, MANY);
	assert_int_equal(o.model->members[CLASS_ORGANS].n, MANY);
	assert_true(finds(o.model, CLASS_ORGANS, "blk_1499_ffn_up", MANY - 1));
	assert_int_equal(o.model->places[MANY - 1].block, 1499);
	close_model(&o);
	free(borrowed);
	free(names);
}

static void a_model_without_tensors_can_be_opened(void **state)
{
	struct mk_file file = mkgguf_finish(mkgguf_new(3));
	struct opened o;

	save(state, "empty.gguf", &file);
	mk_file_free(&file);
	o = open_model(state, "empty.gguf");
	assert_int_equal(o.model->gguf->n_tensors, 0);
	close_model(&o);
}

static void a_model_is_named_after_its_file(void **state)
{
	static const struct {
		const char *file, *name;
	} cases[] = {
		{ "base.gguf", "base" }, { "a.b.GGUF", "a.b" },	      { "plain", "plain" },
		{ ".gguf", ".gguf" },	 { "x.gguf.gguf", "x.gguf" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct opened o = open_small(state, cases[i].file);

		assert_string_equal(o.model->name, cases[i].name);
		close_model(&o);
	}
}

static struct mk_file mk_shard(uint32_t count, uint32_t number)
{
	struct mkgguf *m = mkgguf_new(3);
	uint8_t value[2];

	value[0] = (uint8_t)count;
	value[1] = 0;
	mkgguf_kv(m, "split.count", 11, 2, value, 2);
	value[0] = (uint8_t)number;
	mkgguf_kv(m, "split.no", 8, 2, value, 2);
	mkgguf_tensor(m, "token_embd.weight", GGML_F32, 1, small_row);
	return mkgguf_finish(m);
}

static void a_shard_alone_is_a_model_that_lacks_the_others(void **state)
{
	struct mk_file file = mk_shard(3, 1);
	struct opened o;
	char *lacks;

	save(state, "x-00002-of-00003.gguf", &file);
	mk_file_free(&file);
	o = try_model(state, "x-00002-of-00003.gguf");
	assert_non_null(o.model);
	assert_string_equal(o.model->name, "x");
	assert_false(o.model->whole);
	assert_null(o.model->layer);
	assert_int_equal(o.model->gguf->n_tensors, 1);
	lacks = model_missing_shards(o.model);
	assert_string_equal(lacks, "the model lacks x-00001-of-00003.gguf, x-00003-of-00003.gguf");
	free(lacks);
	close_model(&o);
}

static void the_only_shard_of_a_split_model_is_a_model(void **state)
{
	struct mk_file file = mk_shard(1, 0);
	struct opened o;

	save(state, "x-00001-of-00001.gguf", &file);
	mk_file_free(&file);
	o = open_model(state, "x-00001-of-00001.gguf");
	close_model(&o);
}

static void open_of_other_file_fails_with_a_reason(void **state)
{
	struct opened o;

	write_text(in_temp(state, "text.gguf").text, "this is a text file, not a model");
	o = try_model(state, "text.gguf");
	assert_null(o.model);
	assert_int_equal(o.err.code, EBADMSG);
	assert_int_equal(o.err.offset, 0);
	close_model(&o);
	o = try_model(state, "missing.gguf");
	assert_null(o.model);
	assert_int_equal(o.err.code, ENOENT);
	close_model(&o);
	o = try_model(state, ".");
	assert_null(o.model);
	assert_int_equal(o.err.code, EINVAL);
	close_model(&o);
	model_close(NULL);
}

static void a_cut_off_model_is_refused_wherever_it_was_cut(void **state)
{
	struct mk_file file = mk_small();

	for (size_t n = 0; n < file.data_at; n += 13) {
		struct opened o;

		write_file(in_temp(state, "cut.gguf").text, file.bytes, n);
		o = try_model(state, "cut.gguf");
		assert_null(o.model);
		assert_int_equal(o.err.code, EBADMSG);
		close_model(&o);
	}
	mk_file_free(&file);
}

static void an_organ_is_the_bases_or_the_grafts(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct content *content;
	struct organ organ = model_organ(o.model, SMALL_DOWN, NULL);

	assert_int_equal(organ.type, GGML_Q8_0);
	assert_int_equal(organ.data_size, 68);
	assert_int_equal(fill_organ(o.model, SMALL_DOWN, "another name", GGML_F32, 2, small_blocks,
				    1),
			 0);
	content = slots_get(o.model->slots, SMALL_DOWN);
	organ = model_organ(o.model, SMALL_DOWN, content);
	assert_int_equal(organ.type, GGML_F32);
	assert_int_equal(organ.data_size, 256);
	assert_string_equal(organ.name, "another name");
	content_unref(content);
	close_model(&o);
}

static void a_read_only_model_has_no_layer_and_no_grafts(void **state)
{
	const struct model_options options = { .read_only = true };
	struct opened o = open_small(state, "base.gguf");
	struct content *content;

	assert_int_equal(fill_up(o.model, 50), 0);
	close_model(&o);
	o = open_with(state, "base.gguf", &options);
	assert_non_null(o.model);
	assert_null(o.model->layer);
	assert_null(slots_get(o.model->slots, SMALL_UP));
	close_model(&o);
	o = open_model(state, "base.gguf");
	content = slots_get(o.model->slots, SMALL_UP);
	assert_non_null(content);
	content_unref(content);
	close_model(&o);
}

/* The inode numbers have room for this many added slots. */
static void slots_are_added_up_to_a_limit(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	char name[32], tensor[48];

	for (uint32_t i = 0; i <= MODEL_ADDED_MAX; i++) {
		snprintf(name, sizeof(name), "added_%u", i);
		snprintf(tensor, sizeof(tensor), "added.%u.weight", i);
		assert_int_equal(model_add_slot(o.model, CLASS_ORGANS, name, tensor,
						(uint32_t)strlen(tensor), content_new_whiteout()),
				 i < MODEL_ADDED_MAX ? 0 : -ENOSPC);
	}
	assert_int_equal(slots_count(o.model->slots), o.model->gguf->n_tensors + MODEL_ADDED_MAX);
	close_model(&o);
}

/* Add a directory of which the kernel would be notified. */
static void note_told(void *context, uint64_t ino)
{
	unsigned *told = context;

	*told |= 1u << (inode_kind(ino) == INODE_METADATA ? MODEL_METADATA
							  : (unsigned)inode_index(ino));
}

static unsigned told_of(struct model *model)
{
	unsigned told = 0;

	model_tell_directories(model, note_told, &told);
	return told;
}

static void kernel_is_notified_if_it_may_cache_another_time(void **state)
{
	const struct timespec past = { .tv_sec = 1234567890 }, least = { .tv_sec = 0 };
	const unsigned organs = 1u << CLASS_ORGANS;
	struct opened o = open_small(state, "base.gguf");
	struct timespec base, sent;

	assert_int_equal(told_of(o.model), 0);
	base = model_send_directory_time(o.model, CLASS_ORGANS);
	assert_int_equal(base.tv_sec, backing_stat(o.model->base)->st_mtim.tv_sec);
	model_send_directory_time(o.model, CLASS_NORM);
	model_send_directory_time(o.model, MODEL_METADATA);
	assert_int_equal(told_of(o.model), 0);
	assert_int_equal(fill_up(o.model, 50), 0);
	assert_int_equal(told_of(o.model), organs);
	/* The kernel has no cached time any more. */
	assert_int_equal(told_of(o.model), 0);
	sent = model_send_directory_time(o.model, CLASS_ORGANS);
	assert_true(sent.tv_sec != base.tv_sec || sent.tv_nsec != base.tv_nsec);
	model_set_directory_time(o.model, CLASS_ORGANS, &past);
	/* The kernel may have cached either answer. */
	model_send_directory_time(o.model, CLASS_ORGANS);
	assert_int_equal(told_of(o.model), organs);
	model_send_directory_time(o.model, CLASS_ORGANS);
	model_set_directory_time(o.model, CLASS_ORGANS, &least);
	model_send_directory_time(o.model, CLASS_ORGANS);
	model_set_directory_time(o.model, CLASS_ORGANS, &past);
	model_send_directory_time(o.model, CLASS_ORGANS);
	assert_int_equal(told_of(o.model), organs);
	/* A time of 0 is a time, and a fraction of a second differs from it. */
	model_set_directory_time(o.model, CLASS_ORGANS, &least);
	model_send_directory_time(o.model, CLASS_ORGANS);
	model_set_directory_time(o.model, CLASS_ORGANS, &(struct timespec){ .tv_nsec = 1 });
	assert_int_equal(told_of(o.model), organs);
	model_send_directory_time(o.model, MODEL_METADATA);
	model_set_directory_time(o.model, MODEL_METADATA, &past);
	assert_int_equal(told_of(o.model), 1u << MODEL_METADATA);
	close_model(&o);
}

static void layers_lie_in_the_state_directory_of_the_user(void **state)
{
	char *home = getenv("HOME") ? strdup(getenv("HOME")) : NULL;
	struct opened o;

	setenv("HOME", in_temp(state, "home").text, 1);
	setenv("XDG_STATE_HOME", "not/absolute", 1);
	o = open_small(state, "base.gguf");
	assert_int_equal(fill_up(o.model, 50), 0);
	close_model(&o);
	assert_int_equal(count_entries(in_temp(state, "home/.local/state/organfs").text), 1);
	setenv("XDG_STATE_HOME", in_temp(state, "xdg").text, 1);
	o = open_model(state, "base.gguf");
	assert_int_equal(fill_up(o.model, 51), 0);
	close_model(&o);
	assert_int_equal(count_entries(in_temp(state, "xdg/organfs").text), 1);
	if (home)
		setenv("HOME", home, 1);
	free(home);
}

UNIT_MAIN(temp_setup, temp_teardown)
