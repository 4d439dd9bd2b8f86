/* SPDX-License-Identifier: MIT */
/* test_npy_edit.c - fs/edit/npy_edit.c: NumPy values written to slots of every kind. */
#include "fs/edit/npy_edit.h"
#include "fs/edit/stage.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "fs/util/log.h"
#include "tests/unit/open_model.h"

#include <math.h>

#define ROW   64u
#define ROWS  3u
#define COUNT (ROW * ROWS)

enum { SLOT_F32, SLOT_F16, SLOT_BF16, SLOT_Q8_0, SLOT_Q4_0, SLOT_I32, SLOTS };

static struct opened open_slots(void **state)
{
	static const uint32_t types[SLOTS] = { GGML_F32,  GGML_F16,  GGML_BF16,
					       GGML_Q8_0, GGML_Q4_0, GGML_I32 };
	static const char *const names[SLOTS] = { "blk.0.ffn_up.weight", "blk.1.ffn_up.weight",
						  "blk.2.ffn_up.weight", "blk.3.ffn_up.weight",
						  "blk.4.ffn_up.weight", "blk.5.ffn_up.weight" };
	static const uint64_t ne[] = { ROW, ROWS };
	struct mkgguf *m = mkgguf_new(3);
	struct mk_file file;

	mkgguf_kv_string(m, "general.architecture", "llama");
	for (unsigned i = 0; i < SLOTS; i++)
		mkgguf_tensor(m, names[i], types[i], 2, ne);
	file = mkgguf_finish(m);
	save(state, "slots.gguf", &file);
	mk_file_free(&file);
	return open_model(state, "slots.gguf");
}

/* A model with one F32 slot of that shape. */
static struct opened open_slot(void **state, const uint64_t ne[2])
{
	struct mkgguf *m = mkgguf_new(3);
	struct mk_file file;

	mkgguf_kv_string(m, "general.architecture", "llama");
	mkgguf_tensor(m, "blk.0.ffn_up.weight", GGML_F32, 2, ne);
	file = mkgguf_finish(m);
	save(state, "slot.gguf", &file);
	mk_file_free(&file);
	return open_model(state, "slot.gguf");
}

static struct stage *staged(struct model *model, const char *descr, const char *order,
			    const char *shape, const void *values, size_t n)
{
	struct view *empty = view_new(NULL, 0, NULL);
	struct stage *stage = stage_new(model->layer, empty);
	char head[128] = "\x93NUMPY\x01\x00\x76";

	must(stage);
	view_unref(empty);
	memset(head + 10, ' ', sizeof(head) - 10);
	head[9] = 0;
	snprintf(head + 10, 110, "{'descr': '%s', 'fortran_order': %s, 'shape': %s}", descr, order,
		 shape);
	head[10 + strlen(head + 10)] = ' ';
	assert_int_equal(stage_write(stage, head, sizeof(head), 0), 0);
	assert_int_equal(stage_write(stage, values, n, sizeof(head)), 0);
	return stage;
}

static int put_as(struct opened *o, uint32_t tensor, const char *descr, const char *order,
		  const char *shape, const void *values, size_t n)
{
	struct stage *stage = staged(o->model, descr, order, shape, values, n);
	const int rc = npy_edit_put(o->model, tensor, stage);

	assert_false(stage_unflushed(stage));
	stage_free(stage);
	return rc;
}

static int put(struct opened *o, uint32_t tensor, const float *values)
{
	return put_as(o, tensor, "<f4", "False", "(3, 64)", values, COUNT * sizeof(*values));
}

/* Check the type and the bytes of the slot's content. */
static void assert_data(struct opened *o, uint32_t tensor, uint32_t type, const void *bytes,
			size_t n)
{
	struct content *content = slots_get(o->model->slots, tensor);
	size_t size;
	char *organ = read_organ(o->model, tensor, &size);

	assert_int_equal(model_organ(o->model, tensor, content).type, type);
	assert_true(size > n);
	assert_memory_equal(organ + size - n, bytes, n);
	free(organ);
	content_unref(content);
}

/* Halves of whole numbers, which every type here except Q8_0 holds exactly. */
static void some_values(float values[COUNT])
{
	for (unsigned i = 0; i < COUNT; i++)
		values[i] = (float)(int)(i % 50) / 2 - 10;
}

/* Values that binary16 represents exactly, none of them subnormal. */
static void to_f16(const float *values, uint16_t *halves)
{
	for (unsigned i = 0; i < COUNT; i++) {
		uint32_t bits, exponent;

		memcpy(&bits, &values[i], sizeof(bits));
		exponent = (bits >> 23 & 255) - 127 + 15;
		halves[i] = (uint16_t)(bits >> 16 & 0x8000);
		if (bits << 1)
			halves[i] |= (uint16_t)(exponent << 10 | (bits >> 13 & 1023));
	}
}

static void floats_become_the_type_of_the_slot(void **state)
{
	struct opened o = open_slots(state);
	float values[COUNT];
	uint16_t halves[COUNT], uppers[COUNT];

	some_values(values);
	to_f16(values, halves);
	for (unsigned i = 0; i < COUNT; i++) {
		uint32_t bits;

		memcpy(&bits, &values[i], sizeof(bits));
		uppers[i] = (uint16_t)(bits >> 16);
	}
	assert_int_equal(put(&o, SLOT_F32, values), 0);
	assert_data(&o, SLOT_F32, GGML_F32, values, sizeof(values));
	assert_int_equal(put(&o, SLOT_F16, values), 0);
	assert_data(&o, SLOT_F16, GGML_F16, halves, sizeof(halves));
	assert_int_equal(put(&o, SLOT_BF16, values), 0);
	assert_data(&o, SLOT_BF16, GGML_BF16, uppers, sizeof(uppers));
	assert_int_equal(put_as(&o, SLOT_BF16, "<u2", "False", "(3, 64)", uppers, sizeof(uppers)),
			 0);
	assert_data(&o, SLOT_BF16, GGML_BF16, uppers, sizeof(uppers));
	/* A type without an encoder becomes F16. */
	assert_int_equal(put(&o, SLOT_Q4_0, values), 0);
	assert_data(&o, SLOT_Q4_0, GGML_F16, halves, sizeof(halves));
	/* The slot then accepts values of that type. */
	assert_int_equal(put_as(&o, SLOT_Q4_0, "<f2", "False", "(3, 64)", halves, sizeof(halves)),
			 0);
	assert_data(&o, SLOT_Q4_0, GGML_F16, halves, sizeof(halves));
	assert_int_equal(put_as(&o, SLOT_F32, "<f2", "False", "(3, 64)", halves, sizeof(halves)),
			 0);
	assert_data(&o, SLOT_F32, GGML_F32, values, sizeof(values));
	close_model(&o);
}

static void q8_0_slot_stays_q8_0(void **state)
{
	struct opened o = open_slots(state);
	float values[COUNT];
	uint8_t blocks[COUNT / 32][34];

	/* The scale is 1, so the bytes are the values. */
	for (unsigned i = 0; i < COUNT; i++)
		values[i] = i % 32 == 3 ? 127 : (float)((int)(i % 32) - 16);
	for (unsigned b = 0; b < COUNT / 32; b++) {
		blocks[b][0] = 0;
		blocks[b][1] = 0x3c;
		for (unsigned i = 0; i < 32; i++)
			blocks[b][2 + i] = (uint8_t)(int8_t)values[b * 32 + i];
	}
	assert_int_equal(put(&o, SLOT_Q8_0, values), 0);
	assert_data(&o, SLOT_Q8_0, GGML_Q8_0, blocks, sizeof(blocks));
	close_model(&o);
}

static void other_orders_and_widths_are_taken(void **state)
{
	struct opened o = open_slots(state);
	float values[COUNT], columns[COUNT];
	double wide[COUNT];
	int32_t whole[COUNT];

	some_values(values);
	for (unsigned i = 0; i < COUNT; i++) {
		columns[i % ROW * ROWS + i / ROW] = values[i];
		wide[i] = (double)values[i];
		whole[i] = (int32_t)i - 5;
	}
	assert_int_equal(put_as(&o, SLOT_F32, "<f4", "True", "(3, 64)", columns, sizeof(columns)),
			 0);
	assert_data(&o, SLOT_F32, GGML_F32, values, sizeof(values));
	assert_int_equal(graft_remove(o.model, SLOT_F32), 0);
	assert_int_equal(put(&o, SLOT_F32, values), -ESTALE);
	assert_int_equal(put_as(&o, SLOT_Q4_0, "<f8", "False", "(3, 64)", wide, sizeof(wide)), 0);
	assert_int_equal(put_as(&o, SLOT_I32, "<i4", "False", "(3, 64)", whole, sizeof(whole)), 0);
	assert_data(&o, SLOT_I32, GGML_I32, whole, sizeof(whole));
	close_model(&o);
}

/* A matrix in column order is read in several parts, each of whole rows. */
static void a_large_matrix_in_columns_is_taken(void **state)
{
	enum { LARGE_ROWS = 8200, LARGE = LARGE_ROWS * ROW };
	static const uint64_t ne[] = { ROW, LARGE_ROWS };
	float *values = malloc(LARGE * sizeof(*values)), *columns = malloc(LARGE * sizeof(*values));
	struct opened o = open_slot(state, ne);

	must(values && columns);
	for (unsigned i = 0; i < LARGE; i++) {
		values[i] = (float)i;
		columns[i % ROW * LARGE_ROWS + i / ROW] = values[i];
	}
	assert_int_equal(put_as(&o, 0, "<f4", "True", "(8200, 64)", columns,
				LARGE * sizeof(*columns)),
			 0);
	assert_data(&o, 0, GGML_F32, values, LARGE * sizeof(*values));
	close_model(&o);
	free(values);
	free(columns);
}

static void unfitting_array_is_refused(void **state)
{
	struct opened o = open_slots(state);
	float values[COUNT];
	double wide[COUNT];
	struct content *content;

	some_values(values);
	assert_int_equal(put_as(&o, SLOT_F32, "<f4", "False", "(64, 3)", values, sizeof(values)),
			 -EINVAL);
	assert_true(log_says(o.log, "its shape is (64, 3), and that of the slot (3, 64)"));
	assert_int_equal(put_as(&o, SLOT_F32, "<f4", "False", "(3, 64)", values,
				sizeof(values) - 1),
			 -EINVAL);
	assert_int_equal(put(&o, SLOT_I32, values), -EINVAL);
	assert_true(log_says(o.log, "float32, which a slot of I32 does not take"));
	assert_int_equal(put_as(&o, SLOT_F32, "<i4", "False", "(3, 64)", values, sizeof(values)),
			 -EINVAL);
	values[100] = -70000;
	assert_int_equal(put(&o, SLOT_F16, values), -EINVAL);
	assert_true(log_says(o.log, "value number 100 is -70000, which F16 cannot hold"));
	values[100] = NAN;
	assert_int_equal(put(&o, SLOT_Q8_0, values), -EINVAL);
	for (unsigned i = 0; i < COUNT; i++)
		wide[i] = i == 7 ? -1e300 : 1.0;
	assert_int_equal(put_as(&o, SLOT_F32, "<f8", "False", "(3, 64)", wide, sizeof(wide)),
			 -EINVAL);
	assert_true(log_says(o.log, "value number 7 is -1e+300, which F32 cannot hold"));
	for (uint32_t i = 0; i < SLOTS; i++) {
		content = slots_get(o.model->slots, i);
		assert_null(content);
	}
	/* F32 holds infinity. */
	wide[7] = -INFINITY;
	assert_int_equal(put_as(&o, SLOT_F32, "<f8", "False", "(3, 64)", wide, sizeof(wide)), 0);
	/* F16 represents NaN as well. */
	assert_int_equal(put(&o, SLOT_F16, values), 0);
	close_model(&o);
}

static void refused_graft_is_logged_once(void **state)
{
	struct opened o = open_slots(state);
	float values[COUNT];
	uint64_t before;

	some_values(values);
	before = log_count(o.log);
	/* Another thread replays a recipe. */
	o.model->journal.replaying = true;
	assert_between(-put(&o, SLOT_F32, values), 1, INT_MAX);
	assert_int_equal(log_count(o.log), before + 1);
	assert_true(log_says(o.log, "graft refused"));
	close_model(&o);
}

static void a_header_without_values_changes_nothing(void **state)
{
	struct opened o = open_slots(state);
	struct content *content;

	assert_int_equal(put_as(&o, SLOT_Q4_0, "<f4", "False", "(3, 64)", "", 0), 0);
	content = slots_get(o.model->slots, SLOT_Q4_0);
	assert_null(content);
	assert_int_equal(put_as(&o, SLOT_Q4_0, "<f2", "False", "(3, 64)", "", 0), -EINVAL);
	assert_int_equal(put_as(&o, SLOT_Q4_0, "<f4", "False", "(4, 64)", "", 0), -EINVAL);
	close_model(&o);
}

static void a_matrix_without_values_is_taken_in_both_orders(void **state)
{
	static const uint64_t ne[] = { 0, ROWS };
	struct opened o = open_slot(state, ne);

	assert_int_equal(put_as(&o, 0, "<f4", "False", "(3, 0)", "", 0), 0);
	assert_int_equal(put_as(&o, 0, "<f4", "True", "(3, 0)", "", 0), 0);
	close_model(&o);
}

static void without_memory_the_slot_stays(void **state)
{
	static float columns[COUNT];
	struct opened o = open_slots(state);

	for (unsigned k = 1;; k++) {
		struct stage *stage =
			staged(o.model, "<f4", "True", "(3, 64)", columns, sizeof(columns));
		struct content *content;
		int rc;

		allocation_fails(k);
		rc = npy_edit_put(o.model, SLOT_Q4_0, stage);
		stage_free(stage);
		if (!allocation_failed() || rc == 0) {
			allocation_failed();
			assert_int_equal(rc, 0);
			break;
		}
		assert_int_equal(rc, -ENOMEM);
		content = slots_get(o.model->slots, SLOT_Q4_0);
		assert_null(content);
	}
	close_model(&o);
}

UNIT_MAIN(temp_setup, temp_teardown)
