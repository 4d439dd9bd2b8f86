/* SPDX-License-Identifier: MIT */
/* test_recipe_lineage.c - fs/recipe/recipe_lineage.c: the recipe embedded in an assembled
 * model. */
#include "fs/assemble/model_view.h"
#include "fs/edit/metadata_edit.h"
#include "fs/edit/stage.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "fs/recipe/recipe.h"
#include "fs/recipe/recipe_ancestry.h"
#include "fs/recipe/recipe_lineage.h"
#include "tests/unit/open_model.h"

/* Recipe that the model would embed, or NULL; caller frees. *n_kv: number of the model's keys. */
static char *carried(struct model *model, uint32_t *n_kv)
{
	struct snapshot snapshot;
	struct error err = { 0 };
	struct source source;
	struct gguf *gguf;
	struct view *view;
	const struct kv *kv;
	char *text = NULL;

	assert_int_equal(model_snapshot(model, &snapshot), 0);
	view = model_view(model, &snapshot, false, &err);
	assert_non_null(view);
	source = view_source(view);
	gguf = gguf_read(&source, &err);
	assert_non_null(gguf);
	*n_kv = gguf->n_kv;
	kv = gguf_find(gguf, LINEAGE_KEY);
	if (kv) {
		text = calloc(1, to_size(kv->length) + 1);
		must(text);
		assert_int_equal(view_read(view, text, to_size(kv->length), kv->offset),
				 kv->length);
	}
	gguf_free(gguf);
	view_unref(view);
	snapshot_release(&snapshot);
	return text;
}

static void set_key(struct model *model, const char *words)
{
	struct view *empty = view_new(NULL, 0, NULL);
	struct stage *stage = stage_new(model->layer, empty);

	must(stage);
	assert_int_equal(stage_write(stage, words, strlen(words), 0), 0);
	assert_int_equal(metadata_edit_fill(model, LINEAGE_KEY, stage), 0);
	stage_free(stage);
	view_unref(empty);
}

static void a_model_that_is_changed_carries_its_recipe_once(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct recipe_ancestry ancestry;
	struct recipe_lineage lineage;
	struct recipe recipe;
	struct error err = { 0 };
	uint32_t n_kv;
	char *text;

	recipe_ancestry_init(&ancestry);
	recipe_lineage_init(&lineage, o.model, &ancestry);
	assert_int_equal(fill_up(o.model, 50), 0);
	assert_null(carried(o.model, &n_kv));
	recipe_lineage_show(&lineage);
	for (int edited = 0; edited < 2; edited++) {
		text = carried(o.model, &n_kv);
		assert_int_equal(n_kv, o.model->gguf->n_kv + 1);
		assert_int_equal(recipe_read(text, strlen(text), &recipe, &err), 0);
		assert_int_equal(recipe.n_grafts, 1);
		assert_int_equal(recipe.n_keys, edited);
		recipe_release(&recipe);
		free(text);
		/* A value that the user writes to that key does not count. */
		set_key(o.model, "words");
	}
	recipe_lineage_release(&lineage);
	recipe_ancestry_release(&ancestry);
	close_model(&o);
}

static void unchanged_model_embeds_no_recipe(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct recipe_ancestry ancestry;
	struct recipe_lineage lineage;
	uint32_t n_kv;

	recipe_ancestry_init(&ancestry);
	recipe_lineage_init(&lineage, o.model, &ancestry);
	recipe_lineage_show(&lineage);
	assert_null(carried(o.model, &n_kv));
	recipe_lineage_release(&lineage);
	recipe_ancestry_release(&ancestry);
	close_model(&o);
}

static void without_memory_there_is_no_model(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct recipe_ancestry ancestry;
	struct recipe_lineage lineage;
	struct snapshot snapshot;
	bool failed = true;

	needs_failing_allocations();
	recipe_ancestry_init(&ancestry);
	assert_int_equal(fill_up(o.model, 50), 0);
	assert_int_equal(model_snapshot(o.model, &snapshot), 0);
	for (uint64_t k = 1; failed; k++) {
		struct error err = { 0 };
		struct view *view;

		recipe_lineage_init(&lineage, o.model, &ancestry);
		recipe_lineage_show(&lineage);
		allocation_fails(k);
		view = model_view_header(o.model, &snapshot, true, &err);
		failed = allocation_failed();
		assert_true(failed || view);
		if (!view)
			assert_int_equal(err.code, ENOMEM);
		view_unref(view);
		recipe_lineage_release(&lineage);
	}
	snapshot_release(&snapshot);
	recipe_ancestry_release(&ancestry);
	close_model(&o);
}

UNIT_MAIN(temp_setup, temp_teardown)
