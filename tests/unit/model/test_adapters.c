/* SPDX-License-Identifier: MIT */
/* test_adapters.c - fs/model/adapters.c and fs/edit/adapter_edit.c: the content of a model's slots
 * with adapters. */
#include "fs/edit/adapter_edit.h"
#include "fs/edit/stage.h"
#include "fs/edit/symlinks.h"
#include "fs/layer/layer_records.h"
#include "fs/model/adapters.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "tests/unit/open_layer.h"
#include "tests/unit/open_model.h"

#include <pthread.h>

/* Save an adapter of rank 2 with that alpha, for the models of mk_small(). */
static void save_adapter(void **state, const char *name, float alpha)
{
	static const uint64_t a[] = { 8, 2 }, b[] = { 2, 4 };
	struct mkgguf *m = mkgguf_new(3);
	struct mk_file file;

	mkgguf_kv_string(m, "general.type", "adapter");
	mkgguf_kv_string(m, "adapter.type", "lora");
	mkgguf_kv(m, "adapter.lora.alpha", 18, KV_F32, &alpha, sizeof(alpha));
	mkgguf_tensor(m, "blk.0.attn_q.weight.lora_a", GGML_F32, 2, a);
	mkgguf_tensor(m, "blk.0.attn_q.weight.lora_b", GGML_F32, 2, b);
	file = mkgguf_finish(m);
	save(state, name, &file);
	mk_file_free(&file);
}

/* One model as in a mount, without the mount. */
struct alone {
	struct opened o;
	struct model *model;
	struct symlinks *links;
};

static struct alone mount_alone(void **state)
{
	struct alone alone = { .o = open_model(state, "base.gguf") };

	alone.model = alone.o.model;
	return alone;
}

/* Set the links; model->links points into alone. */
static void begin(struct alone *alone)
{
	alone->links = symlinks_new(&alone->model, 1, false);
	must(alone->links);
	alone->model->links = alone->links;
}

static void end(struct alone *alone)
{
	symlinks_free(alone->links);
	close_model(&alone->o);
}

static int write_number(struct model *model, const char *file, const char *text)
{
	struct view *empty = view_new(NULL, 0, NULL);
	struct stage *stage = stage_new(model->layer, empty);
	int rc;

	must(empty && stage);
	assert_int_equal(stage_write(stage, text, strlen(text), 0), 0);
	rc = adapter_edit_write(model, file, stage);
	stage_free(stage);
	view_unref(empty);
	return rc;
}

static uint64_t shown_ino(struct model *model, uint32_t slot)
{
	struct content *content = slots_get(model->slots, slot);
	const uint64_t ino = content ? content->ino : 0;

	content_unref(content);
	return ino;
}

static int link_it(void **state, struct model *model, const char *file, const char *target)
{
	return adapter_edit_link(model, file, in_temp(state, target).text, getuid(), getgid());
}

static void assert_text(struct model *model, const char *file, const char *text)
{
	struct adapter_attr shown;

	assert_true(adapters_lookup(model, file, &shown));
	assert_string_equal(shown.text, text);
}

static void file_names_tell_the_kind_of_file(void **state)
{
	enum adapter_file kind;
	size_t n;

	(void)state;
	assert_true(adapters_parse("a.gguf", &kind, &n) && kind == ADAPTER_GGUF && n == 1);
	assert_true(adapters_parse("a b.scale", &kind, &n) && kind == ADAPTER_SCALE && n == 3);
	assert_true(adapters_parse("lora.alpha", &kind, &n) && kind == ADAPTER_ALPHA && n == 4);
	assert_false(adapters_parse("a.alpha", &kind, &n));
	assert_false(adapters_parse(".gguf", &kind, &n));
	assert_false(adapters_parse(".a.scale", &kind, &n));
	assert_false(adapters_parse("a.bin", &kind, &n));
	assert_false(adapters_parse("", &kind, &n));
}

static void adapter_changes_only_its_own_tensors(void **state)
{
	struct alone alone;
	size_t size, again;
	char *before, *after;
	uint64_t ino;

	save_small(state, "base.gguf");
	save_adapter(state, "a.gguf", 4);
	alone = mount_alone(state);
	begin(&alone);
	before = read_organ(alone.model, SMALL_Q, &size);
	assert_int_equal(link_it(state, alone.model, "x.gguf", "a.gguf"), 0);
	after = read_organ(alone.model, SMALL_Q, &again);
	assert_int_equal(size, again);
	assert_memory_not_equal(before, after, size);
	assert_int_equal(shown_ino(alone.model, SMALL_UP), 0);
	free(after);
	ino = shown_ino(alone.model, SMALL_Q);
	/* A change without effect keeps the content. */
	assert_int_equal(write_number(alone.model, "x.scale", "1.0"), 0);
	assert_int_equal(shown_ino(alone.model, SMALL_Q), ino);
	assert_int_equal(write_number(alone.model, "x.scale", "2"), 0);
	assert_int_not_equal(shown_ino(alone.model, SMALL_Q), ino);
	assert_text(alone.model, "x.scale", "2\n");
	/* A graft of another slot keeps it too. */
	ino = shown_ino(alone.model, SMALL_Q);
	assert_int_equal(fill_up(alone.model, 50), 0);
	assert_int_equal(shown_ino(alone.model, SMALL_Q), ino);
	assert_int_equal(write_number(alone.model, "x.scale", "0"), 0);
	assert_int_equal(shown_ino(alone.model, SMALL_Q), 0);
	assert_int_equal(adapter_edit_remove(alone.model, "x.gguf"), 0);
	assert_int_equal(adapter_edit_remove(alone.model, "x.gguf"), -ENOENT);
	after = read_organ(alone.model, SMALL_Q, &again);
	assert_memory_equal(before, after, size);
	free(after);
	free(before);
	end(&alone);
}

static void adapters_apply_on_top_of_grafts(void **state)
{
	struct organ_file graft = mk_organ("blk.0.attn_q.weight", GGML_F32, 2, small_ne, 60);
	struct alone alone;
	struct content *content;

	save_small(state, "base.gguf");
	save_adapter(state, "a.gguf", 0);
	alone = mount_alone(state);
	begin(&alone);
	assert_int_equal(link_it(state, alone.model, "x.gguf", "a.gguf"), 0);
	assert_int_equal(fill_organ(alone.model, SMALL_Q, "blk.0.attn_q.weight", GGML_F32, 2,
				    small_ne, 60),
			 0);
	content = slots_get(alone.model->slots, SMALL_Q);
	assert_int_equal(content->kind, CONTENT_MERGED);
	assert_int_equal(content->own->kind, CONTENT_COPY);
	content_unref(content);
	assert_int_equal(adapter_edit_remove(alone.model, "x.gguf"), 0);
	assert_organ(alone.model, SMALL_Q, &graft);
	assert_int_equal(graft_remove(alone.model, SMALL_Q), 0);
	assert_int_equal(link_it(state, alone.model, "x.gguf", "a.gguf"), 0);
	content = slots_get(alone.model->slots, SMALL_Q);
	assert_true(content_is_whiteout(content));
	content_unref(content);
	free(graft.bytes);
	end(&alone);
}

/* A second name of the merged slot is a copy; without memory there is none. */
static void merged_content_is_linked_as_a_copy(void **state)
{
	struct alone alone;
	uint32_t slot;
	bool failed = true;
	int rc;

	needs_failing_allocations();
	save_small(state, "base.gguf");
	save_adapter(state, "a.gguf", 0);
	alone = mount_alone(state);
	begin(&alone);
	assert_int_equal(link_it(state, alone.model, "x.gguf", "a.gguf"), 0);
	for (uint64_t k = 1; failed; k++) {
		struct content *content = NULL;

		allocation_fails(k);
		rc = graft_link(alone.model, SMALL_Q, alone.model, CLASS_SKELETON, "blk_1_attn_q");
		failed = allocation_failed();
		assert_true(rc == 0 || (failed && rc == -ENOMEM));
		if (!model_find_slot(alone.model, CLASS_SKELETON, "blk_1_attn_q", 12, &slot))
			continue;
		content = slots_get(alone.model->slots, slot);
		assert_true(content_is_whiteout(content) == (rc < 0));
		content_unref(content);
		if (rc == 0)
			assert_int_equal(graft_remove(alone.model, slot), 0);
	}
	end(&alone);
}

static int copy_half(struct model *model, const char *name, const char *file, uint64_t ne0,
		     uint64_t ne1)
{
	const uint64_t ne[] = { ne0, ne1 };
	struct organ_file half = mk_organ(name, GGML_F32, 2, ne, 70);
	struct view *empty = view_new(NULL, 0, NULL);
	struct stage *stage = stage_new(model->layer, empty);
	int rc;

	must(empty && stage);
	assert_int_equal(stage_write(stage, half.bytes, half.size, 0), 0);
	rc = graft_fill_name(model, CLASS_ADAPTERS, file, stage);
	stage_free(stage);
	view_unref(empty);
	free(half.bytes);
	return rc;
}

static void a_pair_counts_when_it_is_complete(void **state)
{
	static const char a[] = "blk.0.attn_q.weight.lora_a", b[] = "blk.0.attn_q.weight.lora_b";
	static const char file_a[] = "blk_0_attn_q_weight_lora_a";
	static const char file_b[] = "blk_0_attn_q_weight_lora_b";
	struct alone alone;
	struct adapter_attr shown;
	struct snapshot snapshot;
	uint32_t slot;

	save_small(state, "base.gguf");
	alone = mount_alone(state);
	begin(&alone);
	assert_false(adapters_any(alone.model));
	assert_int_equal(copy_half(alone.model, b, file_b, 2, 4), 0);
	assert_int_equal(shown_ino(alone.model, SMALL_Q), 0);
	assert_true(adapters_has_copied(alone.model));
	assert_text(alone.model, "lora.alpha", "0\n");
	assert_int_equal(copy_half(alone.model, a, file_a, 8, 3), -EINVAL);
	assert_true(log_says(alone.o.log, "lora_a has rank 3 and lora_b 2"));
	assert_int_equal(copy_half(alone.model, a, file_a, 8, 2), 0);
	assert_int_not_equal(shown_ino(alone.model, SMALL_Q), 0);
	assert_int_equal(model_snapshot(alone.model, &snapshot), 0);
	assert_int_equal(snapshot.adapters->n, 1);
	assert_int_equal(snapshot.adapters->lines[0].touched, 1);
	snapshot_release(&snapshot);
	assert_int_equal(write_number(alone.model, "lora.alpha", "4"), 0);
	close_model(&alone.o);
	symlinks_free(alone.links);
	/* The next mount finds the adapter again. */
	alone = mount_alone(state);
	begin(&alone);
	assert_int_not_equal(shown_ino(alone.model, SMALL_Q), 0);
	assert_text(alone.model, "lora.alpha", "4\n");
	assert_true(model_find_slot(alone.model, CLASS_ADAPTERS, file_a, strlen(file_a), &slot));
	assert_true(adapters_is_half(alone.model, slot));
	assert_int_equal(graft_remove(alone.model, slot), 0);
	assert_int_equal(shown_ino(alone.model, SMALL_Q), 0);
	assert_text(alone.model, "lora.alpha", "4\n");
	assert_true(model_find_slot(alone.model, CLASS_ADAPTERS, file_b, strlen(file_b), &slot));
	assert_int_equal(graft_remove(alone.model, slot), 0);
	assert_false(adapters_lookup(alone.model, "lora.alpha", &shown));
	assert_false(adapters_any(alone.model));
	end(&alone);
}

/* Copied pairs always have room for their settings, for any number of links. */
static void the_settings_of_copied_pairs_always_have_a_place(void **state)
{
	struct alone alone;
	char file[32];

	save_small(state, "base.gguf");
	save_adapter(state, "a.gguf", 4);
	alone = mount_alone(state);
	begin(&alone);
	for (unsigned i = 0; i < ADAPTERS_MAX; i++) {
		snprintf(file, sizeof(file), "x%u.gguf", i);
		assert_int_equal(link_it(state, alone.model, file, "a.gguf"), 0);
	}
	assert_int_equal(link_it(state, alone.model, "y.gguf", "a.gguf"), -ENOSPC);
	assert_int_equal(link_it(state, alone.model, "x0.gguf", "a.gguf"), 0);
	assert_int_equal(copy_half(alone.model, "blk.0.attn_q.weight.lora_a",
				   "blk_0_attn_q_weight_lora_a", 8, 2),
			 0);
	assert_int_equal(write_number(alone.model, "lora.alpha", "4"), 0);
	assert_int_equal(write_number(alone.model, "lora.scale", "3"), 0);
	assert_text(alone.model, "lora.scale", "3\n");
	end(&alone);
}

#define SCALES 300

struct snapping {
	struct model *model;
	uint64_t first; /* generation with scale 1; the next scale has the next generation */
	bool wrong;
};

static void *snap(void *argument)
{
	struct snapping *snapping = argument;
	uint64_t moved = 0;

	while (moved < SCALES) {
		struct snapshot snapshot;

		must(model_snapshot(snapping->model, &snapshot) == 0);
		moved = snapshot.generation - snapping->first;
		snapping->wrong |=
			snapshot.adapters->lines[0].scale.numbers[0] < (double)moved + 1.0;
		snapshot_release(&snapshot);
	}
	return NULL;
}

/* A text is made once for each generation. */
static void a_snapshot_has_no_older_adapters_than_its_generation(void **state)
{
	struct alone alone;
	struct snapping snapping = { .wrong = false };
	pthread_t thread;
	char text[16];

	save_small(state, "base.gguf");
	save_adapter(state, "a.gguf", 4);
	alone = mount_alone(state);
	begin(&alone);
	assert_int_equal(link_it(state, alone.model, "x.gguf", "a.gguf"), 0);
	snapping.model = alone.model;
	snapping.first = model_generation(alone.model);
	assert_int_equal(pthread_create(&thread, NULL, snap, &snapping), 0);
	for (unsigned i = 1; i <= SCALES; i++) {
		snprintf(text, sizeof(text), "%u", i + 1);
		assert_int_equal(write_number(alone.model, "x.scale", text), 0);
	}
	pthread_join(thread, NULL);
	assert_false(snapping.wrong);
	end(&alone);
}

static void file_that_is_no_adapter_is_refused(void **state)
{
	struct alone alone;

	save_small(state, "base.gguf");
	save_adapter(state, "a.gguf", 4);
	alone = mount_alone(state);
	begin(&alone);
	assert_int_equal(link_it(state, alone.model, "x.gguf", "base.gguf"), -EINVAL);
	assert_int_equal(link_it(state, alone.model, "x.scale", "a.gguf"), -EINVAL);
	assert_int_equal(write_number(alone.model, "x.gguf", "1"), -EINVAL);
	assert_int_equal(write_number(alone.model, "x.scale", "one"), -EINVAL);
	assert_int_equal(write_number(alone.model, "x.scale", "1e39"), -EINVAL);
	assert_int_equal(copy_half(alone.model, "blk.7.attn_q.weight.lora_a",
				   "blk_7_attn_q_weight_lora_a", 8, 2),
			 -EINVAL);
	assert_true(log_says(alone.o.log, "no tensor blk.7.attn_q.weight"));
	assert_int_equal(link_it(state, alone.model, "x.gguf", "nothing"), -ENOENT);
	assert_true(log_says(alone.o.log, "x.gguf: refused: No such file"));
	assert_false(adapters_any(alone.model));
	/* A link of an earlier mount is kept even if its target is gone. */
	assert_int_equal(layer_write_adapter(alone.model->layer,
					     &(struct layer_adapter){
						     .file = "x.gguf",
						     .target = in_temp(state, "nothing").text,
						     .uid = getuid(),
						     .gid = getgid(),
						     .mtime = { .tv_sec = 1000 } }),
			 0);
	assert_int_equal(adapter_edit_recover(alone.model, NULL), 0);
	adapter_edit_refresh(alone.model, false);
	assert_true(adapters_broken(alone.model));
	save_adapter(state, "nothing", 4);
	assert_false(adapter_edit_refresh(alone.model, false));
	assert_false(adapters_broken(alone.model));
	assert_int_not_equal(shown_ino(alone.model, SMALL_Q), 0);
	end(&alone);
}

/* Check the row for the scale of an adapter, as taken up by the next mount. */
static void assert_recovered(void **state, const char *text, const char *shown)
{
	const struct path layer = in_temp(state, "layer");
	const struct model_options options = { .compress = 1 };
	struct adapter_attr attr;
	char sql[200];
	struct opened o = open_at(state, "base.gguf", layer.text, &options);

	must(o.model);
	close_model(&o);
	snprintf(sql, sizeof(sql), "INSERT INTO adapter VALUES ('x.scale', NULL, 0, 0, '%s', 0)",
		 text);
	alter_rows(layer.text, sql);
	o = open_at(state, "base.gguf", layer.text, &options);
	must(o.model);
	assert_int_equal(adapters_lookup(o.model, "x.scale", &attr) && attr.set, shown != NULL);
	if (shown)
		assert_string_equal(attr.text, shown);
	assert_int_equal(log_says(o.log, "it is neither a link to an adapter nor a number"),
			 !shown);
	close_model(&o);
	remove_tree(layer.text);
}

static void layer_rows_with_non_finite_scale_are_ignored(void **state)
{
	save_small(state, "base.gguf");
	assert_recovered(state, "0.5\n", "0.5\n");
	assert_recovered(state, "0.5", "0.5\n");
	assert_recovered(state, "7", "7\n");
	assert_recovered(state, "inf\n", NULL);
	assert_recovered(state, "nan", NULL);
	assert_recovered(state, "0 0.5 norm=keep\n", "0 0.5 norm=keep\n");
	assert_recovered(state, "0, 1\n", NULL);
	assert_recovered(state, "\n", NULL);
	assert_recovered(state, "", NULL);
	assert_recovered(state, "x", NULL);
}

static void an_adapter_is_a_model_of_its_own(void **state)
{
	struct alone alone;

	save_adapter(state, "base.gguf", 4);
	save_adapter(state, "a.gguf", 4);
	alone = mount_alone(state);
	begin(&alone);
	assert_false(adapters_apply(alone.model));
	assert_text(alone.model, "lora.alpha", "4\n");
	assert_int_equal(link_it(state, alone.model, "x.gguf", "a.gguf"), -EINVAL);
	assert_int_equal(adapter_edit_remove(alone.model, "lora.alpha"), -EPERM);
	end(&alone);
}

UNIT_MAIN(temp_setup, temp_teardown)
