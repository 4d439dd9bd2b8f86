/* SPDX-License-Identifier: MIT */
/* test_graft_link.c - fs/edit/graft_link.c, and the removal in fs/edit/graft.c: slots that hold
 * the content of other slots, or nothing, now and at the next mount. */
#include "fs/edit/stage.h"
#include "fs/layer/layer.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "fs/storage/backing.h"
#include "tests/unit/database_fault.h"
#include "tests/unit/open_layer.h"
#include "tests/unit/open_model.h"

static struct organ_file up_with(uint32_t seed)
{
	return mk_organ("blk.0.ffn_up.weight", GGML_F32, 2, small_ne, seed);
}

/* Mount again after a crash or an unmount, with the state of the layer alone. */
static void mount_again(void **state, struct opened *o)
{
	close_model(o);
	*o = open_model(state, "base.gguf");
}

static void assert_kind(struct model *model, uint32_t tensor, int kind)
{
	struct content *content = slots_get(model->slots, tensor);

	assert_int_equal(content ? (int)content->kind : -1, kind);
	content_unref(content);
}

enum { BASE = -1 };

/* Check that the slot shows the data of tensor of of the base. */
static void assert_data_of(struct model *model, uint32_t tensor, uint32_t of)
{
	const struct gguf_tensor *t = &model->gguf->tensors[of];
	char *bytes, *data = malloc(t->size);
	size_t size;

	must(data && backing_read(model->base, data, t->size, t->offset) == 0);
	bytes = read_organ(model, tensor, &size);
	assert_memory_equal(bytes + size - t->size, data, t->size);
	free(bytes);
	free(data);
}

static uint32_t slot_of(struct model *model, const char *name)
{
	uint32_t tensor;

	assert_true(model_find_slot(model, CLASS_ORGANS, name, strlen(name), &tensor));
	return tensor;
}

static int link_up(struct model *model, const char *name)
{
	return graft_link(model, SMALL_UP, model, CLASS_ORGANS, name);
}

static int link_gate(struct model *model, const char *name)
{
	return graft_link(model, SMALL_GATE, model, CLASS_ORGANS, name);
}

static void a_removed_slot_holds_nothing(void **state)
{
	struct opened o = open_small(state, "base.gguf");

	assert_int_equal(graft_remove(o.model, SMALL_UP), 0);
	assert_int_equal(graft_remove(o.model, SMALL_UP), -ENOENT);
	for (int i = 0; i < 2; i++) {
		assert_kind(o.model, SMALL_UP, CONTENT_WHITEOUT);
		assert_kind(o.model, SMALL_GATE, BASE);
		assert_int_equal(link_up(o.model, "blk_0_ffn_gate"), -ENOENT);
		assert_int_equal(graft_move(o.model, SMALL_UP, CLASS_ORGANS, "blk_0_ffn_gate"),
				 -ENOENT);
		mount_again(state, &o);
	}
	close_model(&o);
}

static void set_aside_fails_if_slot_has_changed(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct organ_file up = up_with(50), other = up_with(51);
	struct content *was;
	bool moved_on;

	assert_int_equal(fill(o.model, SMALL_UP, up.bytes, up.size), 0);
	was = slots_get_own(o.model->slots, SMALL_UP);
	assert_int_equal(graft_remove_if(o.model, SMALL_UP, NULL, &moved_on), -ESTALE);
	assert_int_equal(fill(o.model, SMALL_UP, other.bytes, other.size), 0);
	assert_int_equal(graft_remove_if(o.model, SMALL_UP, was, &moved_on), -ESTALE);
	assert_true(moved_on);
	assert_organ(o.model, SMALL_UP, &other);
	assert_false(log_says(o.log, "cannot remove"));
	content_unref(was);
	was = slots_get_own(o.model->slots, SMALL_UP);
	assert_int_equal(graft_remove_if(o.model, SMALL_UP, was, &moved_on), 0);
	assert_int_equal(graft_remove_if(o.model, SMALL_UP, was, &moved_on), -ENOENT);
	assert_int_equal(graft_remove_if(o.model, SMALL_GATE, NULL, &moved_on), 0);
	mount_again(state, &o);
	assert_kind(o.model, SMALL_UP, CONTENT_WHITEOUT);
	content_unref(was);
	free(up.bytes);
	free(other.bytes);
	close_model(&o);
}

static void a_removed_slot_can_be_filled_again(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct organ_file up = up_with(50);

	assert_int_equal(graft_remove(o.model, SMALL_UP), 0);
	assert_int_equal(fill(o.model, SMALL_GATE, up.bytes, up.size), 0);
	assert_int_equal(link_gate(o.model, "blk_0_ffn_up"), 0);
	for (int i = 0; i < 2; i++) {
		assert_organ(o.model, SMALL_UP, &up);
		mount_again(state, &o);
	}
	free(up.bytes);
	close_model(&o);
}

static void a_tensor_of_the_base_is_linked_by_reference(void **state)
{
	struct opened o = open_small(state, "base.gguf");

	assert_int_equal(link_up(o.model, "blk_0_ffn_gate"), 0);
	for (int i = 0; i < 2; i++) {
		assert_kind(o.model, SMALL_GATE, CONTENT_REFERENCE);
		assert_kind(o.model, SMALL_UP, BASE);
		assert_data_of(o.model, SMALL_GATE, SMALL_UP);
		mount_again(state, &o);
	}
	/* A link to a reference refers to its tensor; the slot's own tensor is no graft. */
	assert_int_equal(link_gate(o.model, "blk_1_ffn_up"), 0);
	assert_data_of(o.model, slot_of(o.model, "blk_1_ffn_up"), SMALL_UP);
	assert_int_equal(link_gate(o.model, "blk_0_ffn_up"), 0);
	assert_kind(o.model, SMALL_UP, BASE);
	close_model(&o);
}

static void linked_copy_outlives_the_original(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct organ_file up = up_with(50);

	assert_int_equal(fill(o.model, SMALL_UP, up.bytes, up.size), 0);
	assert_int_equal(link_up(o.model, "blk_0_ffn_gate"), 0);
	assert_int_equal(fill_up(o.model, 51), 0);
	assert_int_equal(graft_remove(o.model, SMALL_UP), 0);
	for (int i = 0; i < 2; i++) {
		assert_kind(o.model, SMALL_GATE, CONTENT_COPY);
		assert_organ(o.model, SMALL_GATE, &up);
		mount_again(state, &o);
	}
	free(up.bytes);
	close_model(&o);
}

static void a_link_onto_itself_changes_nothing(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct organ_file up = up_with(50);
	uint64_t before;

	assert_int_equal(fill(o.model, SMALL_UP, up.bytes, up.size), 0);
	before = slots_generation(o.model->slots);
	assert_int_equal(link_up(o.model, "blk_0_ffn_up"), 0);
	assert_int_equal(graft_move(o.model, SMALL_UP, CLASS_ORGANS, "blk_0_ffn_up"), 0);
	assert_int_equal(slots_generation(o.model->slots), before);
	assert_organ(o.model, SMALL_UP, &up);
	free(up.bytes);
	close_model(&o);
}

/* mv(1) puts back a scratch file that cp(1) made of the slot before another graft. */
static void slot_can_take_back_its_earlier_content(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct origin origin = { .model = o.model, .slot = SMALL_UP };
	struct view *view, *empty = view_new(NULL, 0, NULL);
	struct stage *stage = stage_new(o.model->layer, empty);

	assert_int_equal(link_gate(o.model, "blk_0_ffn_up"), 0);
	origin.content = slots_get_own(o.model->slots, SMALL_UP);
	view = organ_file_view(o.model, SMALL_UP, origin.content);
	assert_true(stage_adopt(stage, view, &origin));
	assert_int_equal(fill_up(o.model, 51), 0);
	assert_int_equal(graft_fill(o.model, SMALL_UP, stage), 0);
	assert_kind(o.model, SMALL_UP, CONTENT_REFERENCE);
	assert_data_of(o.model, SMALL_UP, SMALL_GATE);
	stage_free(stage);
	view_unref(empty);
	view_unref(view);
	content_unref(origin.content);
	close_model(&o);
}

static void unfitting_move_is_refused_and_changes_nothing(void **state)
{
	static const char *const names[] = { "blk_0_ffn_down", "nonsense", "blk_x_ffn_up" };
	struct opened o = open_small(state, "base.gguf");

	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		assert_int_equal(link_up(o.model, names[i]), -EINVAL);
		assert_int_equal(graft_move(o.model, SMALL_UP, CLASS_ORGANS, names[i]), -EINVAL);
	}
	assert_true(log_says(o.log, "organs/blk_0_ffn_down.bin: graft refused: the organ's shape"));
	assert_true(log_says(o.log, "organs/nonsense.bin: graft refused: no slot has"));
	assert_true(log_says(o.log, "belongs in organs/blk_0_ffn_up.bin\n"));
	for (int i = 0; i < 2; i++) {
		assert_kind(o.model, SMALL_UP, BASE);
		assert_kind(o.model, SMALL_DOWN, BASE);
		assert_int_equal(slots_count(o.model->slots), SMALL_TENSORS);
		mount_again(state, &o);
	}
	close_model(&o);
}

/* Fill a slot like a process that creates the file. */
static int fill_anew(struct model *model, const char *name, const struct organ_file *file)
{
	struct view *empty = view_new(NULL, 0, NULL);
	struct stage *stage = stage_new(model->layer, empty);
	int rc;

	must(stage && stage_write(stage, file->bytes, file->size, 0) == 0);
	view_unref(empty);
	rc = graft_fill_name(model, CLASS_ORGANS, name, stage);
	stage_free(stage);
	return rc;
}

static void an_added_slot_comes_and_goes_without_a_trace(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct organ_file up = up_with(50);
	struct organ_file other = mk_organ("blk.0.attn_q.weight", GGML_F32, 2, small_ne, 60);
	uint32_t added;

	assert_int_equal(fill(o.model, SMALL_UP, up.bytes, up.size), 0);
	assert_int_equal(link_up(o.model, "blk_1_ffn_up"), 0);
	mount_again(state, &o);
	added = slot_of(o.model, "blk_1_ffn_up");
	assert_organ(o.model, added, &up);
	assert_int_equal(graft_remove(o.model, added), 0);
	assert_kind(o.model, added, CONTENT_WHITEOUT);
	/* A refused slot name is still refused. */
	assert_int_equal(fill_anew(o.model, "blk_1_ffn_up", &other), -EINVAL);
	assert_kind(o.model, added, CONTENT_WHITEOUT);
	assert_int_equal(ask_layer(o.model->layer, "SELECT count(*) FROM slot"), 1);
	mount_again(state, &o);
	assert_int_equal(slots_count(o.model->slots), SMALL_TENSORS);
	free(other.bytes);
	free(up.bytes);
	close_model(&o);
}

/* The first added slot has the number behind the base's last tensor. */
static void a_tensor_of_the_base_is_linked_to_an_added_slot_again(void **state)
{
	struct opened o = open_small(state, "base.gguf");

	for (int i = 0; i < 2; i++) {
		assert_int_equal(link_gate(o.model, "blk_1_ffn_gate"), 0);
		assert_int_equal(slot_of(o.model, "blk_1_ffn_gate"), SMALL_TENSORS);
		assert_kind(o.model, SMALL_TENSORS, CONTENT_REFERENCE);
	}
	mount_again(state, &o);
	assert_kind(o.model, SMALL_TENSORS, CONTENT_REFERENCE);
	close_model(&o);
}

static void a_move_fills_one_slot_and_empties_the_other(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct organ_file up = up_with(50);

	assert_int_equal(fill_organ(o.model, SMALL_GATE, "x", GGML_F32, 2, small_ne, 51), 0);
	assert_int_equal(fill(o.model, SMALL_UP, up.bytes, up.size), 0);
	assert_int_equal(graft_move(o.model, SMALL_UP, CLASS_ORGANS, "blk_0_ffn_gate"), 0);
	for (int i = 0; i < 2; i++) {
		assert_organ(o.model, SMALL_GATE, &up);
		assert_kind(o.model, SMALL_UP, CONTENT_WHITEOUT);
		mount_again(state, &o);
	}
	free(up.bytes);
	close_model(&o);
}

static void move_and_move_back_leave_no_graft(void **state)
{
	struct opened o = open_small(state, "base.gguf");

	assert_int_equal(graft_move(o.model, SMALL_UP, CLASS_ORGANS, "blk_1_ffn_up"), 0);
	mount_again(state, &o);
	assert_int_equal(graft_move(o.model, slot_of(o.model, "blk_1_ffn_up"), CLASS_ORGANS,
				    "blk_0_ffn_up"),
			 0);
	for (int i = 0; i < 2; i++) {
		assert_kind(o.model, SMALL_UP, BASE);
		mount_again(state, &o);
	}
	assert_int_equal(slots_count(o.model->slots), SMALL_TENSORS);
	close_model(&o);
}

static void a_move_that_the_disk_refuses_has_moved_nothing(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct organ_file up = up_with(50);

	assert_int_equal(fill(o.model, SMALL_UP, up.bytes, up.size), 0);
	database_writes_fail(EDQUOT, NULL);
	assert_int_equal(graft_move(o.model, SMALL_UP, CLASS_ORGANS, "blk_0_ffn_gate"), -EDQUOT);
	assert_int_equal(link_up(o.model, "blk_0_ffn_gate"), -EDQUOT);
	assert_true(database_write_failed());
	for (int i = 0; i < 2; i++) {
		assert_organ(o.model, SMALL_UP, &up);
		assert_kind(o.model, SMALL_GATE, BASE);
		mount_again(state, &o);
	}
	assert_int_equal(graft_move(o.model, SMALL_UP, CLASS_ORGANS, "blk_0_ffn_gate"), 0);
	assert_organ(o.model, SMALL_GATE, &up);
	free(up.bytes);
	close_model(&o);
}

/* ## without memory */

static int do_remove(struct model *model)
{
	return graft_remove(model, SMALL_NORM);
}

static int do_refer(struct model *model)
{
	return graft_link(model, SMALL_Q, model, CLASS_SKELETON, "blk_1_attn_q");
}

static int do_share(struct model *model)
{
	return link_up(model, "blk_0_ffn_gate");
}

static int do_add(struct model *model)
{
	return link_up(model, "blk_1_ffn_up");
}

static int do_move(struct model *model)
{
	return graft_move(model, SMALL_Q, CLASS_SKELETON, "blk_1_attn_q");
}

/* A stage with a whole organ; its making does not fail. */
static struct stage *written(struct model *model)
{
	const uint64_t k = unit_allocation;
	struct organ_file up;
	struct view *empty;
	struct stage *stage;

	unit_allocation = 0;
	up = up_with(51);
	empty = view_new(NULL, 0, NULL);
	must(empty);
	stage = stage_new(model->layer, empty);
	must(stage && stage_write(stage, up.bytes, up.size, 0) == 0);
	view_unref(empty);
	free(up.bytes);
	unit_allocation = k;
	return stage;
}

static int do_fill(struct model *model)
{
	struct stage *stage = written(model);
	const int rc = graft_fill(model, SMALL_GATE, stage);

	stage_free(stage);
	return rc;
}

static int do_fill_new(struct model *model)
{
	struct stage *stage = written(model);
	const int rc = graft_fill_name(model, CLASS_ORGANS, "blk_1_ffn_up", stage);

	stage_free(stage);
	return rc;
}

static uint32_t sum(const char *bytes, size_t n)
{
	uint32_t value = 1;

	for (size_t i = 0; i < n; i++)
		value = value * 31 + (uint8_t)bytes[i];
	return value;
}

/* All organs of the model, one after another; caller frees. */
static char *read_all(struct model *model)
{
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);

	must(out);
	for (enum organ_class klass = 0; klass < CLASSES; klass++) {
		uint32_t tensor;

		for (uint32_t k = 0; model_class_slot(model, klass, k, &tensor); k++) {
			struct content *content = slots_get(model->slots, tensor);
			char *bytes;
			size_t size;

			if (!content_is_whiteout(content)) {
				bytes = read_organ(model, tensor, &size);
				fprintf(out, "%s %08x\n", model->places[tensor].name,
					sum(bytes, size));
				free(bytes);
			}
			content_unref(content);
		}
	}
	must(fclose(out) == 0);
	return text;
}

static void assert_all(struct model *model, const char *expected, const char *what, uint64_t k)
{
	char *now = read_all(model);

	if (strcmp(now, expected) != 0)
		fail_msg("%s, allocation %d:\n%s\nnot\n%s", what, (int)k, now, expected);
	free(now);
}

/* Run the edit in a fresh model with one copy; the k-th allocation fails. A failed edit changes
 * nothing, now or at the next mount. Returns false if there are fewer allocations. */
static bool refuse_one(void **state, int (*edit)(struct model *model), const char *what, uint64_t k)
{
	struct opened o = open_small(state, "base.gguf");
	char *before, *after;
	bool failed;
	int rc;

	assert_int_equal(fill_up(o.model, 50), 0);
	before = read_all(o.model);
	allocation_fails(k);
	rc = edit(o.model);
	failed = allocation_failed();
	after = read_all(o.model);
	if (rc < 0)
		assert_all(o.model, before, what, k);
	mount_again(state, &o);
	assert_all(o.model, after, what, k);
	close_model(&o);
	free(before);
	free(after);
	remove_tree(in_temp(state, "state").text);
	assert_true(failed || rc == 0);
	return failed;
}

static void edit_without_memory_is_refused_or_done(void **state)
{
	static const struct {
		int (*edit)(struct model *model);
		const char *name;
	} edits[] = { { do_remove, "remove" },	  { do_refer, "refer" }, { do_share, "share" },
		      { do_add, "add" },	  { do_move, "move" },	 { do_fill, "fill" },
		      { do_fill_new, "fill new" } };

	needs_failing_allocations();
	for (size_t i = 0; i < ARRAY_LENGTH(edits); i++)
		for (uint64_t k = 1; refuse_one(state, edits[i].edit, edits[i].name, k);)
			k++;
}

UNIT_MAIN(temp_setup, temp_teardown)
