/* SPDX-License-Identifier: MIT */
/* test_figures.c - fs/lazy/figures.c: the place of each tensor, and its measurements. */
#include "fs/edit/graft.h"
#include "fs/lazy/figures.h"
#include "fs/lazy/memo.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "tests/unit/measures.h"

#include <math.h>

#define assert_figure(figures, i, expected) \
	unit_assert_figure(&(figures)->figures[i], expected, __FILE__, __LINE__)

static void unit_assert_figure(const struct figure *figure, struct figure expected,
			       const char *file, int line)
{
	if (strcmp(figure->file, expected.file) == 0 && strcmp(figure->role, expected.role) == 0 &&
	    strcmp(figure->type, expected.type) == 0 && figure->klass == expected.klass &&
	    figure->kind == expected.kind && figure->block == expected.block &&
	    figure->elements == expected.elements && !figure->z)
		return;
	print_error("%s, role %s, type %s, class %u, kind %u, block %d, %llu elements\n",
		    figure->file, figure->role, figure->type, figure->klass, figure->kind,
		    figure->block, (unsigned long long)figure->elements);
	_fail(file, line);
}

static void every_tensor_has_a_figure_in_file_order(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct figures *figures = figures_now(o.model);

	assert_int_equal(figures->n, SMALL_TENSORS);
	assert_int_equal(figures->grafts, 0);
	assert_ptr_equal(figures->model, o.model);
	assert_figure(figures, SMALL_EMBED,
		      ((struct figure){ "embed/token_embd.bin", "token_embd", "F32", CLASS_EMBED,
					KIND_EMBEDDING, -1, 32, .z = NULL }));
	assert_figure(figures, SMALL_Q,
		      ((struct figure){ "skeleton/blk_0_attn_q.bin", "attn_q", "F32",
					CLASS_SKELETON, KIND_ATTENTION, 0, 32, .z = NULL }));
	assert_figure(figures, SMALL_NORM,
		      ((struct figure){ "norm/blk_0_ffn_norm.bin", "ffn_norm", "F32", CLASS_NORM,
					KIND_NORM, 0, 8, .z = NULL }));
	assert_figure(figures, SMALL_DOWN,
		      ((struct figure){ "organs/blk_0_ffn_down.bin", "ffn_down", "Q8_0",
					CLASS_ORGANS, KIND_DENSE, 0, 64, .z = NULL }));
	for (uint32_t i = 0; i < SMALL_TENSORS; i++) {
		assert_int_equal(figures->subjects[i].tensor, i);
		assert_null(figures->subjects[i].content);
	}
	figures_free(figures);
	figures_free(NULL);
	close_model(&o);
}

static void kinds_blocks_and_types_are_told_apart(void **state)
{
	static const struct {
		const char *name;
		uint32_t type;
		struct figure figure;
	} rows[] = {
		{ "blk.7.ffn_up_exps.weight",
		  GGML_F16,
		  { "organs/blk_7_ffn_up_exps.bin", "ffn_up_exps", "F16", CLASS_ORGANS,
		    KIND_EXPERTS, 7, 64, .z = NULL } },
		{ "blk.7.ffn_up_shexp.weight",
		  GGML_Q8_1,
		  { "organs/blk_7_ffn_up_shexp.bin", "ffn_up_shexp", "Q8_1", CLASS_ORGANS,
		    KIND_SHARED, 7, 64, .z = NULL } },
		{ "blk.12.ffn_gate_inp.weight",
		  UINT32_MAX,
		  { "organs/blk_12_ffn_gate_inp.bin", "ffn_gate_inp", "type-4294967295",
		    CLASS_ORGANS, KIND_OTHER, 12, 64, .z = NULL } },
		{ "what/is\nthis",
		  GGML_F32,
		  { "other/what%2Fis%0Athis.bin", "what%2Fis%0Athis", "F32", CLASS_OTHER,
		    KIND_OTHER, -1, 64, .z = NULL } },
	};
	struct mkgguf *m = mkgguf_new(3);
	struct figures *figures;
	struct mk_file file;
	struct opened o;

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
		mkgguf_tensor(m, rows[i].name, rows[i].type, 2, small_blocks);
	file = mkgguf_finish(m);
	save(state, "base.gguf", &file);
	mk_file_free(&file);
	o = open_model(state, "base.gguf");
	figures = figures_now(o.model);
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
		assert_figure(figures, i, rows[i].figure);
	figures_free(figures);
	close_model(&o);
}

static void two_tensors_that_share_a_short_name_stand_by_their_exact_ones(void **state)
{
	struct mkgguf *m = mkgguf_new(3);
	struct figures *figures;
	struct mk_file file;
	struct opened o;

	mkgguf_tensor(m, "blk.0.ffn_up.weight", GGML_F32, 1, small_row);
	mkgguf_tensor(m, "blk.0.ffn_up", GGML_F32, 1, small_row);
	file = mkgguf_finish(m);
	save(state, "base.gguf", &file);
	mk_file_free(&file);
	o = open_model(state, "base.gguf");
	figures = figures_now(o.model);
	assert_string_equal(figures->figures[0].file, "organs/blk.0.ffn_up.weight.bin");
	assert_string_equal(figures->figures[0].tensor, "blk.0.ffn_up.weight");
	assert_int_equal(figures->figures[1].tensor_length, strlen("blk.0.ffn_up"));
	assert_string_equal(figures->figures[1].shape, "8");
	assert_int_equal(figures->figures[1].bytes, 32);
	assert_null(figures->layer);
	assert_string_equal(figures->figures[1].file, "organs/blk.0.ffn_up.bin");
	figures_free(figures);
	close_model(&o);
}

static void a_graft_has_its_own_type_and_the_slots_place(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct figures *figures;
	struct content *content;

	assert_int_equal(fill_organ(o.model, SMALL_DOWN, "blk.9.attn_q.weight", GGML_Q4_0, 2,
				    small_blocks, 5),
			 0);
	figures = figures_now(o.model);
	content = slots_get(o.model->slots, SMALL_DOWN);
	assert_int_equal(figures->grafts, 1);
	assert_figure(figures, SMALL_DOWN,
		      ((struct figure){ "organs/blk_0_ffn_down.bin", "ffn_down", "Q4_0",
					CLASS_ORGANS, KIND_DENSE, 0, 64, .z = NULL }));
	assert_int_equal(figures->figures[SMALL_DOWN].changes,
			 1u << FIGURE_GRAFTED | 1u << FIGURE_CONVERTED);
	assert_null(figures->figures[SMALL_DOWN].donor);
	assert_int_equal(figures->figures[SMALL_UP].changes, 0);
	assert_ptr_equal(figures->subjects[SMALL_DOWN].content, content);
	assert_null(figures->subjects[SMALL_UP].content);
	assert_int_equal(content->refs, 3);
	slots_set(o.model->slots, SMALL_DOWN, NULL);
	assert_int_equal(content->refs, 2);
	figures_free(figures);
	assert_int_equal(content->refs, 1);
	content_unref(content);
	close_model(&o);
}

static void a_graft_of_another_shape_has_other_elements(void **state)
{
	static const uint64_t ne[] = { 5, 3 };
	const struct model_options options = { .any_shape = true };
	struct figures *figures;
	struct opened o;

	save_small(state, "base.gguf");
	o = open_with(state, "base.gguf", &options);
	assert_non_null(o.model);
	assert_int_equal(fill_organ(o.model, SMALL_UP, "blk.0.ffn_up.weight", GGML_F32, 2, ne, 5),
			 0);
	figures = figures_now(o.model);
	assert_int_equal(figures->figures[SMALL_UP].elements, 15);
	assert_int_equal(figures->figures[SMALL_GATE].elements, 32);
	figures_free(figures);
	close_model(&o);
}

static void removed_slot_is_listed_apart_and_in_the_base(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct figures *figures;

	assert_int_equal(graft_remove(o.model, SMALL_UP), 0);
	figures = figures_now(o.model);
	assert_int_equal(figures->n, SMALL_TENSORS - 1);
	assert_int_equal(figures->n_removed, 1);
	assert_string_equal(figures->removed[0].file, "organs/blk_0_ffn_up.bin");
	assert_int_equal(figures->removed[0].changes, 1u << FIGURE_REMOVED);
	figures_free(figures);
	figures = figures_of_base(o.model);
	assert_non_null(figures);
	assert_int_equal(figures->n, SMALL_TENSORS);
	assert_int_equal(figures->n_removed, 0);
	assert_string_equal(figures->figures[SMALL_UP].file, "organs/blk_0_ffn_up.bin");
	figures_free(figures);
	close_model(&o);
}

static void mean_weight_is_read_with_the_measures_where_it_is_shown(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct memo *measures = new_readings(o.model);
	struct zmeasure values[SMALL_TENSORS];
	struct figures *figures;

	use_importance(state, o.model);
	figures = figures_now(o.model);
	assert_false(figures->figures[SMALL_UP].weighed);
	assert_int_equal(figures_measure(figures, measures, values, NULL), 0);
	assert_true(isnan(figures->figures[SMALL_UP].importance));
	assert_ptr_equal(figures_add_weights(figures), figures);
	assert_true(figures->figures[SMALL_UP].weighed);
	assert_false(figures->figures[SMALL_GATE].weighed);
	assert_int_equal(figures_measure(figures, measures, values, NULL), 0);
	assert_true(figures->figures[SMALL_UP].importance == 1.5);
	figures_free(figures);
	memo_free(measures);
	close_model(&o);
}

static void a_model_without_tensors_has_no_figures(void **state)
{
	struct mk_file file = mkgguf_finish(mkgguf_new(3));
	struct figures *figures;
	struct opened o;

	save(state, "base.gguf", &file);
	mk_file_free(&file);
	o = open_model(state, "base.gguf");
	figures = figures_now(o.model);
	assert_int_equal(figures->n, 0);
	figures_free(figures);
	close_model(&o);
}

static void without_memory_there_are_no_figures_and_no_content_is_kept(void **state)
{
	struct opened o;
	struct snapshot snapshot;
	struct figures *figures;
	struct content *content;

	needs_failing_allocations();
	o = open_small(state, "base.gguf");
	assert_int_equal(fill_up(o.model, 77), 0);
	content = slots_get(o.model->slots, SMALL_UP);
	assert_int_equal(slots_snapshot(o.model->slots, &snapshot), 0);
	for (uint64_t k = 1;; k++) {
		allocation_fails(k);
		figures = figures_new(o.model, &snapshot);
		if (!allocation_failed())
			break;
		assert_null(figures);
		assert_int_equal(content->refs, 3);
	}
	assert_non_null(figures);
	figures_free(figures);
	snapshot_release(&snapshot);
	assert_int_equal(content->refs, 2);
	content_unref(content);
	close_model(&o);
}

UNIT_MAIN(temp_setup, temp_teardown)
