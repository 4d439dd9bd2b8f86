/* SPDX-License-Identifier: MIT */
/* test_merge_edit.c - fs/edit/merge_edit.c and fs/model/merge_force.c: a merge is in force as a
 * whole or not at all, also at the next mount. */
#include "fs/base/base.h"
#include "fs/edit/merge_edit.h"
#include "fs/edit/symlinks.h"
#include "fs/edit/undo.h"
#include "fs/layer/layer.h"
#include "fs/layer/layer_records.h"
#include "fs/model/merge_force.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "tests/unit/open_layer.h"
#include "tests/unit/open_model.h"
#include "tests/unit/tasks.h"

#include <errno.h>
#include <unistd.h>

/* Every tensor doubled. */
static const char doubled[] = "merge_method: passthrough\n"
			      "models: [{model: other}]\n"
			      "parameters: {scale: 2}\n";
/* One additional block. */
static const char stacked[] = "merge_method: passthrough\n"
			      "slices:\n"
			      "- sources: [{model: base, layer_range: [0, 1]}]\n"
			      "- sources: [{model: other.gguf, layer_range: [0, 1]}]\n";

struct scene {
	struct opened o;
	struct model *models[1];
	struct symlinks *links;
};

static void set_up(struct scene *scene)
{
	scene->models[0] = scene->o.model;
	scene->links = symlinks_new(scene->models, 1, false);
	must(scene->links);
	scene->o.model->links = scene->links;
}

static struct scene *open_scene(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	must(scene);
	save_small(state, "other.gguf");
	scene->o = open_small(state, "base.gguf");
	set_up(scene);
	return scene;
}

/* Open the model again, like the next mount. */
static void reopen(void **state, struct scene *scene)
{
	symlinks_free(scene->links);
	close_model(&scene->o);
	scene->o = open_model(state, "base.gguf");
	set_up(scene);
}

static void close_scene(struct scene *scene)
{
	symlinks_free(scene->links);
	close_model(&scene->o);
	free(scene);
}

static int merge_from(struct scene *scene, const char *text, const char *first, const char *second)
{
	const struct merge_request request = {
		.text = text,
		.size = strlen(text),
		.directories = { first, second },
		.models = scene->models,
		.n_models = 1,
		.uid = getuid(),
		.gid = getgid(),
	};

	return merge_edit_write(scene->o.model, &request);
}

static int merge(void **state, struct scene *scene, const char *text)
{
	return merge_from(scene, text, ((struct temp *)*state)->dir, NULL);
}

static const char *how(struct model *model, uint32_t slot)
{
	struct content *own = slots_get_own(model->slots, slot);
	const char *name = own ? content_kind_name(own) : "base";

	content_unref(own);
	return name;
}

static uint32_t slot_of(struct model *model, const char *name)
{
	uint32_t slot;

	assert_true(model_find_slot(model, CLASS_ORGANS, name, strlen(name), &slot));
	return slot;
}

/* Check the text in force; NULL for none. */
static void assert_text(struct model *model, const char *text)
{
	struct merge_state *now = merge_force_get(model);

	assert_int_equal(!now, !text);
	if (text)
		assert_string_equal(now->text, text);
	merge_state_unref(now);
}

static void model_is_searched_in_both_directories(void **state)
{
	struct scene *scene = open_scene(state);
	const char *here = ((struct temp *)*state)->dir;
	const struct path empty = in_temp(state, "empty");

	must(mkdir(empty.text, 0700) == 0);
	assert_int_equal(merge_from(scene, doubled, empty.text, NULL), -EINVAL);
	assert_int_equal(merge_from(scene, doubled, NULL, NULL), -EINVAL);
	assert_true(log_says(scene->o.log, "give a path from / on"));
	assert_int_equal(merge_from(scene, doubled, empty.text, here), 0);
	assert_text(scene->o.model, doubled);
	assert_int_equal(merge_edit_end(scene->o.model), 0);
	assert_int_equal(merge_from(scene, doubled, NULL, here), 0);
	close_scene(scene);
}

static void a_merge_lies_beneath_grafts(void **state)
{
	struct scene *scene = open_scene(state);
	struct model *model = scene->o.model;
	char all[] = "all";

	assert_int_equal(merge_edit_end(model), -ENOENT);
	assert_int_equal(merge(state, scene, doubled), 0);
	assert_text(model, doubled);
	assert_string_equal(how(model, SMALL_UP), "blend");
	assert_int_equal(fill_up(model, 51), 0);
	assert_string_equal(how(model, SMALL_UP), "copy");
	assert_int_equal(undo(model, all), 0);
	assert_string_equal(how(model, SMALL_UP), "blend");
	assert_int_equal(fill_up(model, 52), 0);
	assert_int_equal(merge_edit_end(model), 0);
	assert_text(model, NULL);
	assert_string_equal(how(model, SMALL_UP), "copy");
	assert_string_equal(how(model, SMALL_Q), "base");
	close_scene(scene);
}

static void added_block_has_slots_of_its_own(void **state)
{
	struct scene *scene = open_scene(state);
	struct model *model = scene->o.model;
	uint32_t slot;

	assert_int_equal(merge(state, scene, stacked), 0);
	slot = slot_of(model, "blk_1_ffn_up");
	assert_string_equal(how(model, slot), "blend");
	assert_string_equal(how(model, SMALL_UP), "base");
	/* A removal hides the merged tensor, also at the next mount. */
	assert_int_equal(graft_remove(model, slot), 0);
	reopen(state, scene);
	model = scene->o.model;
	assert_false(merge_edit_refresh(model, &model, 1, false));
	slot = slot_of(model, "blk_1_ffn_up");
	assert_string_equal(how(model, slot), "removed");
	assert_string_equal(how(model, slot_of(model, "blk_1_ffn_gate")), "blend");
	/* Tensors that only the merge had leave nothing behind. */
	assert_int_equal(merge_edit_end(model), 0);
	reopen(state, scene);
	assert_int_equal(scene->o.model->recovered, 0);
	assert_false(scene->o.model->left_alone);
	close_scene(scene);
}

static void missing_model_breaks_its_tensors(void **state)
{
	struct scene *scene = open_scene(state);
	struct merge_state *now;

	assert_int_equal(merge(state, scene, stacked), 0);
	reopen(state, scene);
	assert_true(merge_force_broken(scene->o.model));
	assert_string_equal(how(scene->o.model, slot_of(scene->o.model, "blk_1_ffn_up")),
			    "broken blend");
	must(unlink(in_temp(state, "other.gguf").text) == 0);
	merge_edit_refresh(scene->o.model, &scene->o.model, 1, false);
	assert_true(log_says(scene->o.log, "its tensors cannot be read: line 4, column"));
	now = merge_force_get(scene->o.model);
	assert_string_equal(now->method, "passthrough");
	assert_non_null(strstr(now->broken, "there is no file"));
	merge_state_unref(now);
	assert_string_equal(how(scene->o.model, slot_of(scene->o.model, "blk_1_ffn_up")),
			    "broken blend");
	save_small(state, "other.gguf");
	/* A slow attempt, as on a busy machine, postpones the next one. */
	scene->o.model->merge_again = 0;
	merge_edit_refresh(scene->o.model, &scene->o.model, 1, false);
	assert_false(merge_force_broken(scene->o.model));
	assert_string_equal(how(scene->o.model, slot_of(scene->o.model, "blk_1_ffn_up")), "blend");
	assert_text(scene->o.model, stacked);
	close_scene(scene);
}

/* A merge of the model's own tensors, doubled. */
static const char own[] = "merge_method: passthrough\n"
			  "models: [{model: base}]\n"
			  "parameters: {scale: 2}\n";

/* Is the mount's open base the only model of the merge in force? */
static bool is_of_own_base(struct model *model)
{
	struct merge_state *now = merge_force_get(model);
	const bool is = now && !now->broken && now->n_models == 1 && !now->bases[0].file;

	merge_state_unref(now);
	return is;
}

static void the_base_is_not_opened_again_by_its_path(void **state)
{
	struct scene *scene = open_scene(state);

	must(rename(in_temp(state, "base.gguf").text, in_temp(state, "moved.gguf").text) == 0);
	assert_int_equal(merge(state, scene, own), 0);
	assert_true(is_of_own_base(scene->o.model));
	save_small(state, "base.gguf");
	assert_int_equal(merge(state, scene, own), 0);
	assert_true(is_of_own_base(scene->o.model));
	close_scene(scene);
}

/* Open the model again with a layer that does not depend on the base's path. */
static void reopen_in_layer(void **state, struct scene *scene, const char *name)
{
	const struct model_options options = { 0 };

	symlinks_free(scene->links);
	close_model(&scene->o);
	scene->o = open_at(state, name, in_temp(state, "layer").text, &options);
	must(scene->o.model);
	set_up(scene);
}

static void a_base_that_was_moved_since_is_still_the_merges(void **state)
{
	struct scene *scene = open_scene(state);

	reopen_in_layer(state, scene, "base.gguf");
	assert_int_equal(merge(state, scene, own), 0);
	must(rename(in_temp(state, "base.gguf").text, in_temp(state, "moved.gguf").text) == 0);
	reopen_in_layer(state, scene, "moved.gguf");
	assert_true(merge_force_broken(scene->o.model));
	assert_false(merge_edit_refresh(scene->o.model, &scene->o.model, 1, false));
	assert_true(is_of_own_base(scene->o.model));
	close_scene(scene);
}

static void another_model_of_the_mount_is_not_opened_again_either(void **state)
{
	struct scene *scene = open_scene(state);
	struct opened other = open_model(state, "other.gguf");
	struct model *models[] = { scene->o.model, other.model };
	const struct merge_request request = {
		.text = doubled, .size = strlen(doubled), .models = models, .n_models = 2
	};
	struct merge_state *now;

	must(rename(in_temp(state, "other.gguf").text, in_temp(state, "moved.gguf").text) == 0);
	assert_int_equal(merge_edit_write(scene->o.model, &request), 0);
	now = merge_force_get(scene->o.model);
	assert_ptr_equal(now->bases[0].file, other.model->base);
	merge_state_unref(now);
	close_scene(scene);
	close_model(&other);
}

/* The model is not the same without its merge. */
static void a_damaged_note_opens_no_model(void **state)
{
	static const char *const notes[] = {
		"none\n",
		/* The added tensor's name is a tensor of the base. */
		"organfs merge 1\ntensor 0 4 blk.0.ffn_up\n"
		"tensor 0 4 blk_0_ffn_up\nconfig 0\n",
	};

	for (size_t i = 0; i < 2; i++) {
		struct scene *scene = open_scene(state);
		struct layer *layer = scene->o.model->layer;
		char path[PATH_MAX];

		must(layer_write_merge(layer, &(struct layer_merge){ .text = (char *)notes[i],
								     .uid = getuid(),
								     .gid = getgid() }) == 0);
		must(layer_directory(layer, path));
		symlinks_free(scene->links);
		close_model(&scene->o);
		scene->o = try_model(state, "base.gguf");
		assert_null(scene->o.model);
		assert_non_null(
			strstr(scene->o.err.text, i ? "\"blk_0_ffn_up\" is already the"
						    : "line 1 is not a line of a merge note"));
		assert_non_null(strstr(scene->o.err.text, "to go on without it: sqlite3 "));
		alter_rows(path, "DELETE FROM merge");
		close_model(&scene->o);
		free(scene);
	}
}

/* Removals of slots that only an earlier merge had do not apply to a later merge. */
static void next_merge_shows_slots_removed_from_the_last(void **state)
{
	struct scene *scene = open_scene(state);
	struct model *model = scene->o.model;

	assert_int_equal(merge(state, scene, stacked), 0);
	assert_int_equal(graft_remove(model, slot_of(model, "blk_1_ffn_up")), 0);
	assert_int_equal(merge(state, scene, doubled), 0);
	assert_int_equal(merge(state, scene, stacked), 0);
	assert_string_equal(how(model, slot_of(model, "blk_1_ffn_up")), "blend");
	reopen(state, scene);
	model = scene->o.model;
	assert_false(merge_edit_refresh(model, &model, 1, false));
	assert_string_equal(how(model, slot_of(model, "blk_1_ffn_up")), "blend");
	close_scene(scene);
}

struct publishing {
	struct model *model;
	struct merge_ready *ready;
};

static void *publish(void *context)
{
	const struct publishing *publishing = context;

	merge_force_publish(publishing->model, publishing->ready);
	return NULL;
}

/* A file made between the two steps is made again: its generation comes with the second step. */
static void a_generation_begins_with_its_merge(void **state)
{
	struct scene *scene = open_scene(state);
	struct model *model = scene->o.model;
	struct publishing publishing = { .model = model };
	struct error err = { 0 };
	struct task task;
	uint64_t before;

	assert_int_equal(merge(state, scene, doubled), 0);
	publishing.ready = merge_ready_new_none(model, &err);
	must(publishing.ready);
	before = model_generation(model);
	pthread_mutex_lock(&model->names_lock);
	task_begin(&task, publish, &publishing);
	assert_true(task_sleeps(&task));
	assert_int_equal(model_generation(model), before);
	pthread_mutex_unlock(&model->names_lock);
	task_end(&task);
	assert_true(model_generation(model) > before);
	close_scene(scene);
}

static void refused_configuration_changes_nothing(void **state)
{
	struct scene *scene = open_scene(state);

	assert_int_equal(merge(state, scene, doubled), 0);
	assert_int_equal(merge(state, scene, "merge_method: magic\n"), -EINVAL);
	assert_true(log_says(scene->o.log, ".merge: refused: line 1, column 15"));
	assert_int_equal(merge(state, scene,
			       "merge_method: passthrough\nmodels: [{model: nowhere/at-all}]\n"),
			 -EINVAL);
	assert_true(
		log_says(scene->o.log, "name a GGUF of Hugging Face by hf:OWNER/REPO/FILE.gguf"));
	assert_text(scene->o.model, doubled);
	close_scene(scene);
}

static void a_merge_that_is_stopped_changes_nothing(void **state)
{
	struct scene *scene = open_scene(state);
	const atomic_bool stop = true;
	const struct merge_request request = { .text = own,
					       .size = strlen(own),
					       .models = scene->models,
					       .n_models = 1,
					       .stop = &stop };

	assert_int_equal(merge_edit_write(scene->o.model, &request), -EINTR);
	assert_true(log_says(scene->o.log, ".merge: refused: it was interrupted"));
	assert_text(scene->o.model, NULL);
	close_scene(scene);
}

static int refuse_merge(void *context, struct error *err)
{
	*(int *)context += 1;
	return error_set(err, EBUSY, ERROR_NO_OFFSET, "a graft has come");
}

static void a_merge_that_its_check_refuses_changes_nothing(void **state)
{
	struct scene *scene = open_scene(state);
	int calls = 0;
	const struct merge_request request = { .text = own,
					       .size = strlen(own),
					       .models = scene->models,
					       .n_models = 1,
					       .check = refuse_merge,
					       .context = &calls };

	assert_int_equal(merge_edit_write(scene->o.model, &request), -EINVAL);
	assert_int_equal(calls, 1);
	assert_true(log_says(scene->o.log, ".merge: refused: a graft has come"));
	assert_text(scene->o.model, NULL);
	close_scene(scene);
}

/* If any allocation or fsync() fails, the whole merge is in force, or the earlier state. */
static void a_failure_merges_all_or_nothing(void **state)
{
	struct scene *scene = open_scene(state);
	struct model *model = scene->o.model;
	bool failed = true;
	int rc = -1;

	needs_failing_allocations();
	assert_int_equal(merge(state, scene, doubled), 0);
	for (uint64_t k = 1; failed; k++) {
		allocation_fails(k);
		rc = merge(state, scene, stacked);
		failed = allocation_failed();
		assert_text(model, rc == 0 ? stacked : doubled);
		assert_string_equal(how(model, SMALL_UP), rc == 0 ? "base" : "blend");
		if (rc == 0 && failed)
			must(merge(state, scene, doubled) == 0);
	}
	assert_int_equal(rc, 0);
	failed = true;
	for (uint64_t k = 1; failed; k++) {
		fsync_fails(k);
		rc = merge(state, scene, doubled);
		failed = fsync_failed();
		assert_text(model, rc == 0 ? doubled : stacked);
		if (rc == 0 && failed)
			must(merge(state, scene, stacked) == 0);
	}
	failed = true;
	for (uint64_t k = 1; failed; k++) {
		allocation_fails(k);
		rc = merge_edit_end(model);
		failed = allocation_failed();
		assert_text(model, rc == 0 ? NULL : doubled);
		if (rc == 0 && failed)
			must(merge(state, scene, doubled) == 0);
	}
	close_scene(scene);
}

UNIT_MAIN(temp_setup, temp_teardown)
