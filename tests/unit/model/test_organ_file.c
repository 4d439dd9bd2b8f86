/* SPDX-License-Identifier: MIT */
/* test_organ_file.c - fs/model/organ_file.c: organ files and the assembled model, byte for byte. */
#include "fs/assemble/model_view.h"
#include "fs/model/slots.h"
#include "fs/storage/backing.h"
#include "gguf/reader.h"
#include "tests/unit/open_model.h"

/* View of the current assembled model. */
static struct view *assembled(struct model *model)
{
	struct snapshot snapshot;
	struct view *view;

	assert_int_equal(slots_snapshot(model->slots, &snapshot), 0);
	view = model_view(model, &snapshot, true, NULL);
	snapshot_release(&snapshot);
	assert_non_null(view);
	return view;
}

static void an_organ_file_is_its_header_and_the_bases_bytes(void **state)
{
	struct mk_file file = mk_small();
	struct opened o = open_small(state, "base.gguf");

	for (uint32_t i = 0; i < SMALL_TENSORS; i++) {
		const struct gguf_tensor *t = &o.model->gguf->tensors[i];
		struct memory_bytes memory;
		struct source source;
		struct organ organ;
		char *bytes = read_organ(o.model, i, &memory.size);

		memory.bytes = (const uint8_t *)bytes;
		source = source_of_memory(&memory);
		assert_int_equal(organ_parse(&source, &organ, NULL), 0);
		assert_string_equal(organ.name, t->name);
		assert_int_equal(organ.type, t->type);
		assert_int_equal(organ.dims, t->dims);
		assert_memory_equal(organ.ne, t->ne, sizeof(organ.ne));
		assert_int_equal(organ.data_size, t->size);
		assert_memory_equal(bytes + organ.header_size, file.bytes + t->offset, t->size);
		free((char *)organ.name);
		free(bytes);
	}
	mk_file_free(&file);
	close_model(&o);
}

/* Check that without a graft the assembled model is the base. */
static void assert_base_again(void **state, struct mk_file file)
{
	struct opened o;
	struct view *view;
	char *bytes;

	save(state, "base.gguf", &file);
	o = open_model(state, "base.gguf");
	view = assembled(o.model);
	bytes = read_view(view);
	assert_int_equal(view_size(view), file.size);
	assert_memory_equal(bytes, file.bytes, file.size);
	free(bytes);
	view_unref(view);
	close_model(&o);
	mk_file_free(&file);
}

static void without_grafts_the_model_is_the_base(void **state)
{
	for (uint32_t version = 1; version <= 3; version++) {
		for (uint32_t alignment = 8; alignment <= 128; alignment *= 4) {
			struct mkgguf *m = mkgguf_new(version);

			mkgguf_kv_string(m, "general.architecture", "llama");
			mkgguf_alignment(m, alignment);
			mkgguf_tensor(m, "a.weight", GGML_F32, 1, small_row);
			mkgguf_tensor(m, "b.weight", GGML_Q8_0, 2, small_blocks);
			m->final_padding = version != 2;
			assert_base_again(state, mkgguf_finish(m));
		}
	}
	assert_base_again(state, mk_small());
	assert_base_again(state, mkgguf_finish(mkgguf_new(3)));
}

static void a_graft_of_the_same_size_changes_its_bytes_and_no_others(void **state)
{
	struct mk_file file = mk_small();
	struct opened o = open_small(state, "base.gguf");
	const struct gguf_tensor *t = &o.model->gguf->tensors[SMALL_UP];
	struct view *view;
	char *bytes;

	assert_int_equal(fill_up(o.model, 50), 0);
	for (size_t i = 0; i < t->size; i++)
		file.bytes[t->offset + i] = mk_byte(50, i);
	view = assembled(o.model);
	bytes = read_view(view);
	assert_int_equal(view_size(view), file.size);
	assert_memory_equal(bytes, file.bytes, file.size);
	free(bytes);
	view_unref(view);
	mk_file_free(&file);
	close_model(&o);
}

/* Check that the parsed bytes hold that tensor, with data of mk_byte(seed, ...). */
static void assert_tensor(const struct gguf *gguf, const char *bytes, uint32_t i, uint32_t type,
			  uint64_t size, uint32_t seed)
{
	const struct gguf_tensor *t = &gguf->tensors[i];

	assert_int_equal(t->type, type);
	assert_int_equal(t->size, size);
	assert_between(t->offset + size, 0, gguf->size);
	for (size_t k = 0; k < size; k++)
		assert_int_equal((uint8_t)bytes[t->offset + k], mk_byte(seed, k));
}

static void a_graft_of_another_size_moves_the_rest_and_the_model_stays_valid(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct memory_bytes memory;
	struct source source;
	struct gguf *gguf;
	struct view *view;
	char *bytes;

	assert_int_equal(fill_organ(o.model, SMALL_UP, "x", GGML_F16, 2, small_ne, 50), 0);
	assert_int_equal(fill_organ(o.model, SMALL_DOWN, "y", GGML_F32, 2, small_blocks, 51), 0);
	view = assembled(o.model);
	bytes = read_view(view);
	memory = (struct memory_bytes){ (const uint8_t *)bytes, (size_t)view_size(view) };
	source = source_of_memory(&memory);
	gguf = gguf_read(&source, NULL);
	assert_non_null(gguf);
	assert_int_equal(gguf->n_tensors, SMALL_TENSORS);
	assert_int_equal(gguf->n_kv, 2);
	assert_string_equal(gguf->tensors[SMALL_UP].name, "blk.0.ffn_up.weight");
	assert_tensor(gguf, bytes, SMALL_Q, GGML_F32, 128, SMALL_Q);
	assert_tensor(gguf, bytes, SMALL_UP, GGML_F16, 64, 50);
	assert_tensor(gguf, bytes, SMALL_GATE, GGML_F32, 128, SMALL_GATE);
	assert_tensor(gguf, bytes, SMALL_NORM, GGML_F32, 32, SMALL_NORM);
	assert_tensor(gguf, bytes, SMALL_DOWN, GGML_F32, 256, 51);
	gguf_free(gguf);
	free(bytes);
	view_unref(view);
	close_model(&o);
}

static void every_window_of_the_model_is_that_slice(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct view *view;
	char *bytes, window[61];
	size_t size;

	assert_int_equal(fill_organ(o.model, SMALL_DOWN, "y", GGML_F32, 2, small_blocks, 51), 0);
	view = assembled(o.model);
	size = (size_t)view_size(view);
	bytes = read_view(view);
	for (size_t from = 0; from < size; from += 7) {
		const size_t n = size - from < sizeof(window) ? size - from : sizeof(window);

		assert_int_equal(view_read(view, window, sizeof(window), from), n);
		assert_memory_equal(window, bytes + from, n);
	}
	free(bytes);
	view_unref(view);
	close_model(&o);
}

static void open_view_keeps_bytes_after_later_grafts(void **state)
{
	struct mk_file file = mk_small();
	struct opened o = open_small(state, "base.gguf");
	struct view *before = assembled(o.model);
	char *bytes;

	assert_int_equal(fill_up(o.model, 50), 0);
	bytes = read_view(before);
	assert_memory_equal(bytes, file.bytes, file.size);
	free(bytes);
	view_unref(before);
	mk_file_free(&file);
	close_model(&o);
}

static void a_base_that_was_changed_is_an_error(void **state)
{
	struct opened o = open_small(state, "base.gguf");
	struct view *model = assembled(o.model), *organ = organ_file_view(o.model, SMALL_UP, NULL);
	char bytes[512];

	assert_int_equal(truncate(in_temp(state, "base.gguf").text,
				  (off_t)backing_size(o.model->base) - 1),
			 0);
	assert_int_equal(view_read(model, bytes, sizeof(bytes), 0), -EIO);
	assert_int_equal(view_read(organ, bytes, sizeof(bytes), 0), -EIO);
	/* The header of an organ file is independent of the base file. */
	assert_int_equal(view_read(organ, bytes, 4, 0), 4);
	view_unref(model);
	view_unref(organ);
	close_model(&o);
}

UNIT_MAIN(temp_setup, temp_teardown)
