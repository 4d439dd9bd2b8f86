/* SPDX-License-Identifier: MIT */
/* test_layout_header.c - gguf/layout_header.c: metadata replaced, removed and added. Every layout
 * is rendered in memory, read again, and compared with the expectation. */
#include "gguf/organ.h"
#include "tests/unit/gguf_bytes.h"
#include "tests/unit/render.h"

#define VALUES_MOST 16u

struct bench {
	struct mk_file file;
	struct gguf *base;
	struct layout_slot slots[4];
	struct organ organs[4];
	uint8_t *data[4];
	struct layout_value values[VALUES_MOST];
	uint32_t n_values;
	struct layout layout;
	uint8_t *bytes; /* rendered layout */
	struct gguf *read;
};

static const uint64_t ne[GGML_AXES] = { 32, 3, 1, 1 };
static const uint64_t ne_odd[GGML_AXES] = { 5, 1, 1, 1 };

/* Entries: a string, u32, u8 array, string array, bool; and three tensors. */
static struct bench bench_new(uint32_t version)
{
	struct mkgguf *m = mkgguf_new(version);
	uint8_t texts[32], *end = texts;
	struct bench b = { .n_values = 0 };

	for (int i = 0; i < 2; i++) {
		end = version > 1 ? store_u64(end, 1) : store_u32(end, 1);
		*end++ = (uint8_t)('x' + i);
	}
	mkgguf_kv_string(m, "k0", "text");
	mkgguf_kv_u32(m, "k1", 1);
	mkgguf_kv_array(m, "k2", KV_U8, 3, "abc", 3);
	mkgguf_kv_array(m, "k3", KV_STRING, 2, texts, (size_t)(end - texts));
	mkgguf_kv(m, "k4", 2, KV_BOOL, "\1", 1);
	mkgguf_tensor(m, "a", GGML_F32, 2, ne);
	mkgguf_tensor(m, "b", GGML_I8, 1, ne_odd);
	mkgguf_tensor(m, "c", GGML_F32, 2, ne);
	b.file = mkgguf_finish(m);
	b.base = read_bytes(b.file.bytes, b.file.size);
	return b;
}

static void change(struct bench *b, struct layout_value value)
{
	b->values[b->n_values++] = value;
}

static const struct layout_value removed = { .removed = true };
static const struct layout_value string = { .type = KV_STRING,
					    .bytes = (const uint8_t *)"longer text",
					    .length = 11 };
static const struct layout_value number = { .type = KV_U32,
					    .bytes = (const uint8_t *)"\2\0\0\0",
					    .length = 4 };
static const struct layout_value array = { .type = KV_ARRAY,
					   .element = KV_U16,
					   .count = 2,
					   .bytes = (const uint8_t *)"\1\0\2\0",
					   .length = 4 };

static void change_entry(struct bench *b, uint32_t kv, struct layout_value value)
{
	value.kv = kv;
	change(b, value);
}

static void add_key(struct bench *b, const char *key, struct layout_value value)
{
	value.kv = b->base->n_kv;
	value.key = key;
	value.key_length = (uint32_t)strlen(key);
	change(b, value);
}

static void graft(struct bench *b, uint32_t slot, uint32_t type)
{
	struct organ *organ = &b->organs[slot];

	*organ = organ_of_tensor(&b->base->tensors[slot]);
	organ->type = type;
	assert_int_equal(type_size(type, organ->ne, &organ->data_size), TYPE_SIZE_OK);
	b->slots[slot] = (struct layout_slot){ FILL_ORGAN, organ };
	b->data[slot] = malloc(to_size(organ->data_size));
	assert_non_null(b->data[slot]);
	memset(b->data[slot], 0xab, to_size(organ->data_size));
}

static void assemble(struct bench *b)
{
	const struct layout_values values = { b->n_values, b->values };
	struct error err = { 0 };

	if (layout_build(b->base, b->slots, b->base->n_tensors, &values, &b->layout, &err) < 0)
		fail_msg("%s", err.text);
	check_layout(&b->layout, b->base, b->slots, b->base->n_tensors);
	b->bytes = render_layout(&b->layout, b->file.bytes, (const uint8_t *const *)b->data);
	b->read = read_bytes(b->bytes, to_size(b->layout.size));
	assert_int_equal(b->read->version, b->base->version);
}

static void finish(struct bench *b)
{
	for (uint32_t i = 0; i < 3; i++)
		free(b->data[i]);
	layout_release(&b->layout);
	gguf_free(b->base);
	gguf_free(b->read);
	free(b->bytes);
	mk_file_free(&b->file);
}

/* Check entry i of the new file. */
static void assert_entry(const struct bench *b, uint32_t i, const char *key,
			 const struct layout_value *value)
{
	const struct kv *kv = &b->read->kv[i];

	assert_true(i < b->read->n_kv);
	assert_string_equal(kv->key, key);
	assert_int_equal(kv->type, value->type);
	assert_int_equal(kv->length, value->length);
	assert_memory_equal(b->bytes + kv->offset, value->bytes, value->length);
	if (value->type == KV_ARRAY) {
		assert_int_equal(kv->element, value->element);
		assert_int_equal(kv->count, value->count);
	}
}

/* Check that entry i of the new file is entry was of the base. */
static void assert_kept(const struct bench *b, uint32_t i, uint32_t was)
{
	const struct kv *kv = &b->base->kv[was];
	const struct layout_value value = { .type = kv->type,
					    .element = kv->element,
					    .count = kv->count,
					    .bytes = b->file.bytes + kv->offset,
					    .length = to_size(kv->length) };

	assert_entry(b, i, kv->key, &value);
}

/* Check that all tensor data moved as a whole. */
static void assert_data_moved_along(const struct bench *b)
{
	const uint64_t n = b->base->size - b->base->data_offset;

	assert_int_equal(b->read->data_offset % b->base->alignment, 0);
	assert_int_equal(b->layout.size - b->read->data_offset, n);
	assert_memory_equal(b->bytes + b->read->data_offset, b->file.bytes + b->base->data_offset,
			    to_size(n));
	for (uint64_t i = b->read->infos_end; i < b->read->data_offset; i++)
		assert_int_equal(b->bytes[i], 0);
	for (uint32_t i = 0; i < b->base->n_tensors; i++)
		assert_int_equal(b->read->tensors[i].offset - b->read->data_offset,
				 b->base->tensors[i].offset - b->base->data_offset);
}

static void a_value_of_the_same_size_changes_itself_only(void **state)
{
	(void)state;
	for (uint32_t version = 1; version <= 3; version++) {
		struct bench b = bench_new(version);
		uint8_t *expected = mk_copy(b.file.bytes, b.file.size);

		store_u32(expected + b.base->kv[1].offset, 2);
		change_entry(&b, 1, number);
		assemble(&b);
		assert_int_equal(b.layout.size, b.file.size);
		assert_memory_equal(b.bytes, expected, b.file.size);
		free(expected);
		finish(&b);
	}
}

static void values_may_change_size_and_type(void **state)
{
	static const struct layout_value *const values[] = { &string, &number, &array };

	(void)state;
	for (uint32_t version = 1; version <= 3; version++)
		for (uint32_t kv = 0; kv < 5; kv++)
			for (size_t v = 0; v < ARRAY_LENGTH(values); v++) {
				struct bench b = bench_new(version);

				change_entry(&b, kv, *values[v]);
				assemble(&b);
				assert_int_equal(b.read->n_kv, 5);
				for (uint32_t i = 0; i < 5; i++)
					if (i == kv)
						assert_entry(&b, i, b.base->kv[i].key, values[v]);
					else
						assert_kept(&b, i, i);
				assert_data_moved_along(&b);
				finish(&b);
			}
}

static void any_entries_may_be_removed(void **state)
{
	(void)state;
	for (uint32_t version = 1; version <= 3; version++)
		for (uint32_t chosen = 1; chosen < 32; chosen++) {
			struct bench b = bench_new(version);
			uint32_t n = 0;

			for (uint32_t i = 0; i < 5; i++)
				if (chosen >> i & 1)
					change_entry(&b, i, removed);
			assemble(&b);
			for (uint32_t i = 0; i < 5; i++)
				if (!(chosen >> i & 1))
					assert_kept(&b, n++, i);
			assert_int_equal(b.read->n_kv, n);
			assert_data_moved_along(&b);
			finish(&b);
		}
}

static void added_entries_come_last_by_their_keys(void **state)
{
	(void)state;
	for (uint32_t version = 1; version <= 3; version++) {
		struct bench b = bench_new(version);

		change_entry(&b, 0, removed);
		change_entry(&b, 3, string);
		add_key(&b, "z", string);
		add_key(&b, "a.b", number);
		add_key(&b, "a", array);
		/* A key that is added and removed leaves no trace. */
		add_key(&b, "gone", removed);
		assemble(&b);
		assert_int_equal(b.read->n_kv, 7);
		assert_kept(&b, 0, 1);
		assert_kept(&b, 1, 2);
		assert_entry(&b, 2, "k3", &string);
		assert_kept(&b, 3, 4);
		assert_entry(&b, 4, "a", &array);
		assert_entry(&b, 5, "a.b", &number);
		assert_entry(&b, 6, "z", &string);
		assert_data_moved_along(&b);
		finish(&b);
	}
}

static void metadata_and_grafts_change_together(void **state)
{
	static const uint32_t types[] = { GGML_F32, GGML_I32, GGML_F16 };

	(void)state;
	for (uint32_t version = 1; version <= 3; version++)
		for (size_t t = 0; t < ARRAY_LENGTH(types); t++) {
			struct bench b = bench_new(version);
			const struct gguf_tensor *is, *was = b.base->tensors;

			graft(&b, 0, types[t]);
			change_entry(&b, 2, removed);
			add_key(&b, "new", string);
			assemble(&b);
			is = b.read->tensors;
			assert_int_equal(b.read->n_kv, 5);
			assert_entry(&b, 4, "new", &string);
			assert_int_equal(is[0].type, types[t]);
			assert_memory_equal(b.bytes + is[0].offset, b.data[0], to_size(is[0].size));
			for (uint32_t i = 1; i < 3; i++)
				assert_memory_equal(b.bytes + is[i].offset,
						    b.file.bytes + was[i].offset,
						    to_size(was[i].size));
			finish(&b);
		}
}

static void a_file_without_tensors_gets_no_padding(void **state)
{
	struct mkgguf *m = mkgguf_new(3);
	struct bench b = { .n_values = 0 };

	(void)state;
	mkgguf_kv_string(m, "k0", "text");
	b.file = mkgguf_finish(m);
	b.base = read_bytes(b.file.bytes, b.file.size);
	change_entry(&b, 0, string);
	assemble(&b);
	assert_int_equal(b.layout.size, b.read->infos_end);
	assert_entry(&b, 0, "k0", &string);
	finish(&b);
}

static void key_can_be_added_to_base_without_metadata(void **state)
{
	struct mkgguf *m = mkgguf_new(3);
	struct bench b = { .n_values = 0 };

	(void)state;
	mkgguf_tensor(m, "a", GGML_F32, 2, ne);
	b.file = mkgguf_finish(m);
	b.base = read_bytes(b.file.bytes, b.file.size);
	add_key(&b, "general.name", string);
	assemble(&b);
	assert_entry(&b, 0, "general.name", &string);
	assert_data_moved_along(&b);
	finish(&b);
}

static void count_beyond_version_1_is_refused(void **state)
{
	struct bench b = bench_new(1);
	const struct layout_value huge = { .type = KV_ARRAY,
					   .element = KV_U8,
					   .count = 1ull << 32,
					   .bytes = (const uint8_t *)"" };
	const struct layout_values values = { 1, &huge };
	struct error err = { 0 };

	(void)state;
	assert_refused(layout_build(b.base, b.slots, 3, &values, &b.layout, &err), &err, EOVERFLOW,
		       ERROR_NO_OFFSET);
	finish(&b);
}

static void each_failing_allocation_is_reported(void **state)
{
	struct bench b;
	struct layout_values values;
	struct error err;
	int rc;

	(void)state;
	needs_failing_allocations();
	b = bench_new(3);
	change_entry(&b, 1, number);
	add_key(&b, "new", string);
	values = (struct layout_values){ b.n_values, b.values };
	for (uint64_t k = 1;; k++) {
		allocation_fails(k);
		rc = layout_build(b.base, b.slots, 3, &values, &b.layout, &err);
		if (!allocation_failed())
			break;
		assert_refused(rc, &err, ENOMEM, ERROR_NO_OFFSET);
	}
	assert_int_equal(rc, 0);
	finish(&b);
}

UNIT_MAIN(NULL, NULL)
