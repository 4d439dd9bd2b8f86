/* SPDX-License-Identifier: MIT */
/* test_expert_edit.c - fs/edit/expert_edit.c: one expert written to a stack, and stacks in another
 * order. */
#include "fs/edit/expert_edit.h"
#include "fs/edit/graft.h"
#include "fs/edit/journal.h"
#include "fs/model/model.h"
#include "fs/edit/stage.h"
#include "fs/model/slots.h"
#include "fs/tensor/expert_slice.h"
#include "tests/unit/open_model.h"
#include "tests/unit/tasks.h"

#define COUNT 4u
#define SLICE (8u * 3u * 4u)
#define STACK 0u
#define OTHER 1u

static struct opened open_experts(void **state)
{
	static const uint64_t stack[] = { 8, 3, COUNT }, other[] = { 8, 3 };
	struct mkgguf *m = mkgguf_new(3);
	struct mk_file file;

	mkgguf_kv_string(m, "general.architecture", "llama");
	mkgguf_tensor(m, "blk.0.ffn_up_exps.weight", GGML_F32, 3, stack);
	mkgguf_tensor(m, "blk.0.ffn_up.weight", GGML_F32, 2, other);
	file = mkgguf_finish(m);
	save(state, "experts.gguf", &file);
	mk_file_free(&file);
	return open_model(state, "experts.gguf");
}

static struct stage *staged(struct model *model, const void *bytes, size_t n)
{
	struct view *empty = view_new(NULL, 0, NULL);
	struct stage *stage = stage_new(model->layer, empty);

	must(stage);
	view_unref(empty);
	assert_int_equal(stage_write(stage, bytes, n, 0), 0);
	return stage;
}

static int put(struct opened *o, uint32_t tensor, uint32_t expert, const void *bytes, size_t n)
{
	struct stage *stage = staged(o->model, bytes, n);
	const int rc = expert_edit_put(o->model, tensor, expert, stage);

	assert_int_equal(stage_written(stage), rc < 0);
	assert_false(stage_unflushed(stage));
	stage_free(stage);
	return rc;
}

static int arrange(struct opened *o, uint32_t tensor, const char *order)
{
	struct stage *stage = staged(o->model, order, strlen(order));
	const int rc = expert_edit_reorder(o->model, tensor, stage);

	stage_free(stage);
	return rc;
}

/* Check that the stack holds these slices of the base in that order; -1 stands for other. */
static void assert_stack(struct opened *o, const int *order, size_t n, const char *other)
{
	size_t size;
	char *bytes = read_organ(o->model, STACK, &size);
	const size_t head = size - n * SLICE;

	assert_int_equal(size,
			 organ_of_tensor(&o->model->gguf->tensors[STACK]).header_size + n * SLICE);
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < SLICE; k++) {
			const char is = bytes[head + i * SLICE + k];

			if (order[i] < 0)
				assert_int_equal(is, other[k]);
			else
				assert_int_equal(is, (char)mk_byte(STACK,
								   (size_t)order[i] * SLICE + k));
		}
	}
	free(bytes);
}

#define ASSERT_STACK(o, other, ...)                                 \
	do {                                                        \
		const int order[] = { __VA_ARGS__ };                \
		assert_stack(o, order, ARRAY_LENGTH(order), other); \
	} while (0)

static struct organ_file slice_of(uint32_t seed)
{
	static const uint64_t ne[] = { 8, 3 };

	return mk_organ("blk.7.whatever", GGML_F32, 2, ne, seed);
}

static void expert_is_written_to_its_place(void **state)
{
	struct opened o = open_experts(state);
	struct organ_file file = slice_of(9);
	const char *data = (const char *)file.bytes + file.size - SLICE;

	assert_int_equal(put(&o, STACK, 2, file.bytes, file.size), 0);
	ASSERT_STACK(&o, data, 0, 1, -1, 3);
	assert_int_equal(arrange(&o, STACK, "2 0 1"), 0);
	ASSERT_STACK(&o, data, -1, 0, 1);
	assert_int_equal(put(&o, STACK, 2, file.bytes, file.size), 0);
	ASSERT_STACK(&o, data, -1, 0, -1);
	free(file.bytes);
	close_model(&o);
}

static void organ_that_is_no_such_expert_is_refused(void **state)
{
	static const uint64_t shape[] = { 3, 8 };
	struct opened o = open_experts(state);
	struct organ_file file = slice_of(9), other = mk_organ("x", GGML_F32, 2, shape, 1),
			  half = mk_organ("x", GGML_F16, 2, (const uint64_t[]){ 8, 3 }, 1);

	assert_int_equal(put(&o, STACK, 0, other.bytes, other.size), -EINVAL);
	assert_true(log_says(o.log, "shape is 3x8, and that of an expert 8x3"));
	assert_int_equal(put(&o, STACK, 0, half.bytes, half.size), -EINVAL);
	assert_true(log_says(o.log, "it is F16"));
	assert_int_equal(put(&o, STACK, 0, file.bytes, file.size - 1), -EINVAL);
	assert_int_equal(put(&o, STACK, COUNT, file.bytes, file.size), -ESTALE);
	assert_int_equal(put(&o, OTHER, 0, file.bytes, file.size), -ESTALE);
	ASSERT_STACK(&o, NULL, 0, 1, 2, 3);
	free(file.bytes);
	free(other.bytes);
	free(half.bytes);
	close_model(&o);
}

static void experts_are_ordered_left_out_and_repeated(void **state)
{
	struct opened o = open_experts(state);

	assert_int_equal(arrange(&o, STACK, "0 2 1 3\n"), 0);
	ASSERT_STACK(&o, NULL, 0, 2, 1, 3);
	assert_int_equal(arrange(&o, STACK, " 0\n\t1 3"), 0);
	ASSERT_STACK(&o, NULL, 0, 2, 3);
	assert_int_equal(arrange(&o, STACK, "2 2 1 0 0"), 0);
	ASSERT_STACK(&o, NULL, 3, 3, 2, 0, 0);
	close_model(&o);
}

static void unchanged_order_is_no_graft(void **state)
{
	struct opened o = open_experts(state);
	struct content *content;

	assert_int_equal(arrange(&o, STACK, "0 1 2 3"), 0);
	content = slots_get(o.model->slots, STACK);
	assert_null(content);
	/* An order that leads back to the base's ends the graft. */
	assert_int_equal(arrange(&o, STACK, "3 2 1 0"), 0);
	assert_int_equal(arrange(&o, STACK, "3 2 1 0"), 0);
	content = slots_get(o.model->slots, STACK);
	assert_null(content);
	close_model(&o);
}

static void text_that_is_no_order_is_refused(void **state)
{
	static const char *const none[] = { "",	     "\n",  "4",  "0 1 2 4",
					    "a",     "0,1", "-1", "+1",
					    "1x",    "0x1", "1.", "0 99999999999999999999",
					    "0 1 \1" };
	struct opened o = open_experts(state);

	for (size_t i = 0; i < ARRAY_LENGTH(none); i++)
		if (*none[i] && arrange(&o, STACK, none[i]) != -EINVAL)
			fail_msg("%s", none[i]);
	assert_int_equal(arrange(&o, OTHER, "0"), -ESTALE);
	ASSERT_STACK(&o, NULL, 0, 1, 2, 3);
	close_model(&o);
}

static void an_order_with_a_nul_or_without_end_is_refused(void **state)
{
	struct opened o = open_experts(state);
	struct stage *stage = staged(o.model, "0\0001", 3);

	assert_int_equal(expert_edit_reorder(o.model, STACK, stage), -EINVAL);
	assert_int_equal(stage_write(stage, "0", 1, EXPERT_SLICE_ORDER_MAX), 0);
	assert_int_equal(expert_edit_reorder(o.model, STACK, stage), -EINVAL);
	assert_true(log_says(o.log, "an order cannot be"));
	stage_free(stage);
	close_model(&o);
}

/* Fill the whole stack, as a copy by a user does. */
static struct content *fill_stack(struct opened *o, uint32_t seed)
{
	static const uint64_t ne[] = { 8, 3, COUNT };
	struct organ_file file = mk_organ("blk.0.ffn_up_exps.weight", GGML_F32, 3, ne, seed);
	struct stage *stage = staged(o->model, file.bytes, file.size);

	assert_int_equal(graft_fill(o->model, STACK, stage), 0);
	stage_free(stage);
	free(file.bytes);
	return slots_get_own(o->model->slots, STACK);
}

struct putting {
	struct opened *o;
	int rc;
};

static void *put_expert_1(void *argument)
{
	struct putting *putting = argument;
	struct organ_file file = slice_of(9);

	putting->rc = put(putting->o, STACK, 1, file.bytes, file.size);
	free(file.bytes);
	return NULL;
}

/* Write expert 1, and set the slot to content before the write is put in force. */
static int put_beside(struct opened *o, struct content *content)
{
	struct putting putting = { o, 1 };
	struct task task;

	journal_begin(o->model);
	task_begin(&task, put_expert_1, &putting);
	assert_true(task_sleeps(&task));
	slots_set(o->model->slots, STACK, content);
	journal_end(o->model);
	task_end(&task);
	return putting.rc;
}

static void expert_is_written_to_the_current_content(void **state)
{
	struct opened o = open_experts(state);
	struct content *one = fill_stack(&o, 21), *other = fill_stack(&o, 22);
	struct organ_file file = slice_of(9);
	size_t n, size;
	char *stack, *bytes;

	slots_set(o.model->slots, STACK, content_ref(one));
	stack = read_organ(o.model, STACK, &n);
	slots_set(o.model->slots, STACK, content_ref(other));
	assert_int_equal(put_beside(&o, content_ref(one)), 0);
	bytes = read_organ(o.model, STACK, &size);
	assert_int_equal(size, n);
	memcpy(stack + n - 3 * SLICE, file.bytes + file.size - SLICE, SLICE);
	assert_memory_equal(bytes, stack, n);
	assert_false(log_says(o.log, "refused"));
	/* A removed slot takes no expert. */
	assert_int_equal(put_beside(&o, content_new_whiteout()), -ESTALE);
	assert_true(log_says(o.log, "the slot has no such expert any more"));
	content_unref(one);
	content_unref(other);
	free(file.bytes);
	free(stack);
	free(bytes);
	close_model(&o);
}

static void removed_slot_has_no_experts(void **state)
{
	struct opened o = open_experts(state);
	struct organ_file file = slice_of(9);

	assert_int_equal(graft_remove(o.model, STACK), 0);
	assert_int_equal(put(&o, STACK, 0, file.bytes, file.size), -ESTALE);
	assert_int_equal(arrange(&o, STACK, "0"), -ESTALE);
	free(file.bytes);
	close_model(&o);
}

static void without_memory_the_stack_stays(void **state)
{
	struct opened o = open_experts(state);
	struct stage *stage = staged(o.model, "1 0 2", 5);

	for (unsigned k = 1;; k++) {
		int rc;

		allocation_fails(k);
		rc = expert_edit_reorder(o.model, STACK, stage);
		if (!allocation_failed() || rc == 0) {
			allocation_failed();
			assert_int_equal(rc, 0);
			break;
		}
		assert_int_equal(rc, -ENOMEM);
		ASSERT_STACK(&o, NULL, 0, 1, 2, 3);
	}
	ASSERT_STACK(&o, NULL, 1, 0, 2);
	stage_free(stage);
	close_model(&o);
}

UNIT_MAIN(temp_setup, temp_teardown)
