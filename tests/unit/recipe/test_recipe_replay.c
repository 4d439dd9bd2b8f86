/* SPDX-License-Identifier: MIT */
/* test_recipe_replay.c - fs/recipe/recipe_replay.c: a recipe carried out on a model, as a whole or
 * not at all. */
#include "fs/assemble/model_view.h"
#include "fs/base/donor.h"
#include "fs/edit/journal.h"
#include "fs/edit/metadata_edit.h"
#include "fs/edit/stage.h"
#include "fs/edit/undo.h"
#include "fs/metadata/metadata.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "fs/recipe/recipe_ancestry.h"
#include "fs/recipe/recipe_replay.h"
#include "fs/recipe/recipe_state.h"
#include "fs/storage/backing.h"
#include "tests/unit/database_fault.h"
#include "tests/unit/open_model.h"
#include "tests/unit/tasks.h"

/* A recipe, the model that it made, and the directory of its donors. */
struct scene {
	struct opened o;
	struct recipe_ancestry ancestry;
	char *text, *whole, *donors;
	size_t size;
	uint64_t whole_size;
};

static bool is_changed(struct model *model)
{
	struct snapshot snapshot;
	bool is;

	assert_int_equal(model_snapshot(model, &snapshot), 0);
	is = recipe_is_needed(model, &snapshot);
	snapshot_release(&snapshot);
	return is;
}

static char *read_model(struct model *model, uint64_t *size)
{
	struct snapshot snapshot;
	struct error err = { 0 };
	struct view *view;
	char *bytes;

	assert_int_equal(model_snapshot(model, &snapshot), 0);
	view = model_view(model, &snapshot, false, &err);
	assert_non_null(view);
	*size = view_size(view);
	bytes = read_view(view);
	view_unref(view);
	snapshot_release(&snapshot);
	return bytes;
}

/* Make a graft of each kind that needs no mount, and edits. */
static void change(struct model *model)
{
	struct donor *donor;
	struct stage *stage = stage_over(model, SMALL_UP);
	struct backing *file = backing_ref(model->base);
	char *bytes;
	size_t n;
	uint32_t i;

	donor = donor_from_backing(file, "blk.0.ffn_gate.weight", 21);
	bytes = read_organ(model, SMALL_GATE, &n);
	assert_int_equal(stage_truncate(stage, 0), 0);
	assert_int_equal(stage_write(stage, bytes, n, 0), 0);
	assert_int_equal(graft_fill_place(model,
					  &(struct graft_place){ .klass = CLASS_ORGANS,
								 .name = "blk_0_ffn_up" },
					  stage, donor),
			 0);
	free(bytes);
	stage_free(stage);
	donor_unref(donor);
	backing_unref(file);
	assert_int_equal(fill_organ(model, SMALL_Q, "blk.0.attn_q.weight", GGML_F32, 2, small_ne,
				    77),
			 0);
	assert_int_equal(graft_link(model, SMALL_GATE, model, CLASS_ORGANS, "blk_7_ffn_gate"), 0);
	assert_int_equal(graft_remove(model, SMALL_NORM), 0);
	assert_true(metadata_find(model->metadata, "llama.block_count", &i));
	assert_int_equal(metadata_edit_remove(model, i), 0);
}

static char *text_of(struct scene *scene, size_t *size)
{
	struct snapshot snapshot;
	struct error err = { 0 };
	char *text;

	assert_int_equal(model_snapshot(scene->o.model, &snapshot), 0);
	text = recipe_text_of_model(scene->o.model, &snapshot, &scene->ancestry, false, size, &err);
	assert_non_null(text);
	snapshot_release(&snapshot);
	return text;
}

static int say(struct model *model, const char *text)
{
	char words[64];

	snprintf(words, sizeof(words), "%s", text);
	return undo(model, words);
}

/* Open a scene: the model is its base again, and donors/ has the copy with an unknown donor. */
static struct scene open_scene(void **state)
{
	struct scene scene = { .o = open_small(state, "base.gguf") };
	const struct path donors = in_temp(state, "donors");
	struct organ_file organ = mk_organ("blk.0.attn_q.weight", GGML_F32, 2, small_ne, 77);

	recipe_ancestry_init(&scene.ancestry);
	change(scene.o.model);
	scene.text = text_of(&scene, &scene.size);
	scene.whole = read_model(scene.o.model, &scene.whole_size);
	scene.donors = strdup(donors.text);
	must(mkdir(donors.text, 0700) == 0);
	write_file(path_in(donors.text, "any name").text, organ.bytes, organ.size);
	free(organ.bytes);
	assert_int_equal(say(scene.o.model, "all"), 0);
	assert_false(is_changed(scene.o.model));
	return scene;
}

static void close_scene(struct scene *scene)
{
	close_model(&scene->o);
	recipe_ancestry_release(&scene->ancestry);
	free(scene->text);
	free(scene->whole);
	free(scene->donors);
}

static int replay(struct scene *scene, const char *text, size_t n)
{
	const struct recipe_request request = {
		.text = text,
		.size = n,
		.places = { .donors = scene->donors, .models = &scene->o.model, .n_models = 1 },
		.ancestry = &scene->ancestry,
		.uid = getuid(),
		.gid = getgid()
	};

	return recipe_replay(scene->o.model, &request);
}

static void assert_done(struct scene *scene)
{
	uint64_t size;
	char *whole = read_model(scene->o.model, &size);

	assert_int_equal(size, scene->whole_size);
	assert_memory_equal(whole, scene->whole, (size_t)size);
	free(whole);
}

static void replay_gives_equal_model_and_recipe(void **state)
{
	struct scene scene = open_scene(state);
	size_t size;
	char *text;

	assert_int_equal(replay(&scene, scene.text, scene.size), 0);
	assert_done(&scene);
	close_model(&scene.o);
	scene.o = open_model(state, "base.gguf");
	assert_done(&scene);
	/* The recipe now has the path of the organ file. */
	text = text_of(&scene, &size);
	assert_int_equal(replay(&scene, text, size), 0);
	assert_true(log_says(scene.o.log, "the model is already as the recipe says"));
	assert_int_equal(replay(&scene, scene.text, scene.size), 0);
	free(text);
	close_scene(&scene);
}

static void without_its_donor_nothing_is_done(void **state)
{
	struct scene scene = open_scene(state);

	must(unlink(path_in(scene.donors, "any name").text) == 0);
	assert_int_equal(replay(&scene, scene.text, scene.size), -EINVAL);
	assert_true(log_says(scene.o.log, ".recipe: missing: for skeleton/blk_0_attn_q"));
	assert_false(is_changed(scene.o.model));
	close_scene(&scene);
}

static void a_model_that_is_changed_is_left_alone(void **state)
{
	struct scene scene = open_scene(state);

	assert_int_equal(fill_up(scene.o.model, 9), 0);
	assert_int_equal(replay(&scene, scene.text, scene.size), -EINVAL);
	assert_true(log_says(scene.o.log, "the model is changed already"));
	assert_int_equal(say(scene.o.model, "all"), 0);
	assert_int_equal(replay(&scene, scene.text, scene.size), 0);
	assert_done(&scene);
	close_scene(&scene);
}

static void a_recipe_without_changes_does_nothing_to_any_model(void **state)
{
	static const char empty[] = "organfs: recipe 1\n"
				    "base: {name: x, size: 1, fingerprint: "
				    "00000000000000000000000000000000}\n";
	struct scene scene = open_scene(state);

	assert_int_equal(replay(&scene, empty, strlen(empty)), 0);
	assert_false(is_changed(scene.o.model));
	assert_int_equal(replay(&scene, empty, 7), -EINVAL);
	close_scene(&scene);
}

static void *remove_norm(void *model)
{
	static int rc;

	rc = graft_remove(model, SMALL_NORM);
	return &rc;
}

static void meanwhile_no_other_thread_changes_the_model(void **state)
{
	struct scene scene = open_scene(state);
	pthread_t thread;
	void *rc;

	journal_begin(scene.o.model);
	assert_int_equal(journal_begin_replay(scene.o.model), 0);
	journal_end(scene.o.model);
	must(pthread_create(&thread, NULL, remove_norm, scene.o.model) == 0);
	must(pthread_join(thread, &rc) == 0);
	assert_int_equal(*(int *)rc, -EBUSY);
	assert_int_equal(graft_remove(scene.o.model, SMALL_NORM), 0);
	journal_begin(scene.o.model);
	journal_end_replay(scene.o.model);
	journal_end(scene.o.model);
	must(pthread_create(&thread, NULL, remove_norm, scene.o.model) == 0);
	must(pthread_join(thread, &rc) == 0);
	assert_int_equal(*(int *)rc, -ENOENT);
	assert_int_equal(say(scene.o.model, "all"), 0);
	close_scene(&scene);
}

/* A thread that takes a snapshot of the model. */
static void *look(void *model)
{
	struct snapshot snapshot;

	must(journal_snapshot(model, &snapshot) == 0);
	snapshot_release(&snapshot);
	return NULL;
}

static void reader_of_whole_model_waits_for_publication(void **state)
{
	struct scene scene = open_scene(state);
	struct task looker;

	journal_begin(scene.o.model);
	journal_begin_publish(scene.o.model);
	journal_end(scene.o.model);
	task_begin(&looker, look, scene.o.model);
	assert_true(task_sleeps(&looker));
	journal_begin(scene.o.model);
	journal_end_publish(scene.o.model);
	journal_end(scene.o.model);
	task_end(&looker);
	/* Without a publication the snapshot does not wait for the lock. */
	journal_begin(scene.o.model);
	look(scene.o.model);
	journal_end(scene.o.model);
	close_scene(&scene);
}

static void assert_all_or_nothing(struct scene *scene, int rc)
{
	if (rc == 0) {
		assert_done(scene);
		assert_int_equal(say(scene->o.model, "all"), 0);
	}
	assert_false(is_changed(scene->o.model));
}

static void whichever_allocation_fails_all_is_done_or_nothing(void **state)
{
	struct scene scene;
	bool failed = true;

	needs_failing_allocations();
	scene = open_scene(state);
	for (uint64_t k = 1; failed; k++) {
		int rc;

		allocation_fails(k);
		rc = replay(&scene, scene.text, scene.size);
		failed = allocation_failed();
		assert_all_or_nothing(&scene, rc);
	}
	close_scene(&scene);
}

static void whichever_write_fails_all_is_done_or_nothing(void **state)
{
	struct scene scene = open_scene(state);
	bool failed = true;

	for (uint64_t k = 1; failed; k++) {
		int rc;

		fsync_fails(k);
		rc = replay(&scene, scene.text, scene.size);
		failed = fsync_failed();
		assert_all_or_nothing(&scene, rc);
		close_model(&scene.o);
		scene.o = open_model(state, "base.gguf");
		assert_false(is_changed(scene.o.model));
	}
	database_writes_fail(ENOSPC, NULL);
	assert_int_equal(replay(&scene, scene.text, scene.size), -ENOSPC);
	assert_true(database_write_failed());
	assert_all_or_nothing(&scene, -ENOSPC);
	close_scene(&scene);
}

UNIT_MAIN(temp_setup, temp_teardown)
