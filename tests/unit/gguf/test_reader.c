/* SPDX-License-Identifier: MIT */
/* test_reader.c - gguf/reader.c and reader_tensors.c: valid files, and every refusal with its code
 * and byte. */
#include "gguf/cursor.h"
#include "gguf/reader.h"
#include "tests/unit/unit.h"

static struct gguf *read_bytes(const void *bytes, size_t size, struct error *err)
{
	struct memory_bytes memory = { bytes, size };
	const struct source source = source_of_memory(&memory);

	*err = (struct error){ 0 };
	return gguf_read(&source, err);
}

static struct gguf *read_file(const struct mk_file *file)
{
	struct error err;
	struct gguf *gguf = read_bytes(file->bytes, file->size, &err);

	if (!gguf)
		fail_msg("byte %lld: %s", (long long)err.offset, err.text);
	return gguf;
}

/* Check that reading fails with this code at this byte. */
#define assert_file_refused(file, code, offset)                                              \
	unit_assert_file_refused((file)->bytes, (file)->size, code, offset, (offset) + 1ull, \
				 __FILE__, __LINE__)

/* Check that reading fails with this code at a byte in [from, to). */
#define assert_file_refused_within(file, code, from, to) \
	unit_assert_file_refused((file)->bytes, (file)->size, code, from, to, __FILE__, __LINE__)

#define assert_bytes_refused(bytes, size, code, offset) \
	unit_assert_file_refused(bytes, size, code, offset, (offset) + 1ull, __FILE__, __LINE__)

static void unit_assert_file_refused(const void *bytes, size_t size, int code, uint64_t from,
				     uint64_t to, const char *source, int line)
{
	uint8_t *exact = mk_copy(bytes, size);
	struct error err;
	struct gguf *gguf = read_bytes(exact, size, &err);
	const bool accepted = gguf != NULL;

	gguf_free(gguf);
	free(exact);
	unit_assert_refused_within(accepted ? 0 : -err.code, &err, code, from, to, source, line);
}

static const uint64_t ne_matrix[] = { 32, 3 };
static const uint64_t ne_vector[] = { 5 };

/* A file with some of everything. */
static struct mkgguf *sample(uint32_t version)
{
	static const uint32_t numbers[] = { 1, 2, 3 };
	static const uint8_t text[] = { 1, 0, 0, 0, 0, 0, 0, 0, 'x', 0, 0, 0, 0, 0, 0, 0, 0 };
	static const uint8_t narrow_text[] = { 1, 0, 0, 0, 'x', 0, 0, 0, 0 };
	struct mkgguf *m = mkgguf_new(version);

	mkgguf_kv_string(m, "general.architecture", "llama");
	mkgguf_kv_u32(m, "llama.block_count", 2);
	mkgguf_kv_array(m, "numbers", KV_U32, 3, numbers, sizeof(numbers));
	mkgguf_kv_array(m, "texts", KV_STRING, 2, version == 1 ? narrow_text : text,
			version == 1 ? sizeof(narrow_text) : sizeof(text));
	mkgguf_tensor(m, "token_embd.weight", GGML_F32, 2, ne_matrix);
	mkgguf_tensor(m, "blk.0.ffn_up.weight", GGML_Q4_0, 2, ne_matrix);
	mkgguf_tensor(m, "blk.0.ffn_up.bias", GGML_F16, 1, ne_vector);
	return m;
}

static struct mk_file sample_file(uint32_t version)
{
	return mkgguf_finish(sample(version));
}

/* Offsets of the parts of tensor info i of the sample. */
static size_t dims_at(const struct mk_file *file, uint32_t version, uint32_t i)
{
	static const size_t lengths[] = { 17, 19, 17 };

	return file->info_at[i] + mk_width(version) + lengths[i];
}

static size_t type_at(const struct mk_file *file, uint32_t i)
{
	return file->info_at[i + 1] - 12;
}

static size_t offset_at(const struct mk_file *file, uint32_t i)
{
	return file->info_at[i + 1] - 8;
}

static void a_file_is_read_in_every_version(void **state)
{
	(void)state;
	for (uint32_t version = 1; version <= 3; version++) {
		struct mk_file file = sample_file(version);
		struct gguf *g = read_file(&file);

		assert_int_equal(g->version, version);
		assert_int_equal(g->alignment, 32);
		assert_int_equal(g->size, file.size);
		assert_int_equal(g->n_kv, 4);
		assert_int_equal(g->n_tensors, 3);
		assert_int_equal(g->infos_offset, file.info_at[0]);
		assert_int_equal(g->infos_end, file.info_at[3]);
		assert_int_equal(g->data_offset, file.data_at);
		assert_false(g->overlap);
		gguf_free(g);
		mk_file_free(&file);
	}
}

static void tensors_have_the_fields_of_their_infos(void **state)
{
	(void)state;
	for (uint32_t version = 1; version <= 3; version++) {
		struct mk_file file = sample_file(version);
		struct gguf *g = read_file(&file);
		const struct gguf_tensor *t = g->tensors;

		assert_string_equal(t[0].name, "token_embd.weight");
		assert_int_equal(t[0].name_length, 17);
		assert_true(t[0].dims == 2 && t[0].ne[0] == 32 && t[0].ne[1] == 3);
		assert_true(t[0].ne[2] == 1 && t[0].ne[3] == 1);
		assert_true(t[0].type == GGML_F32 && t[0].size == 384);
		assert_int_equal(t[0].offset, file.data_at);
		assert_true(t[1].type == GGML_Q4_0 && t[1].size == 54);
		assert_int_equal(t[1].offset, file.data_at + 384);
		assert_true(t[2].dims == 1 && t[2].ne[0] == 5 && t[2].size == 10);
		assert_int_equal(t[2].offset, file.data_at + 448);
		for (uint32_t i = 0; i < 3; i++) {
			assert_int_equal(g->order[i], i);
			assert_ptr_equal(gguf_tensor(g, t[i].name, t[i].name_length), &t[i]);
		}
		assert_null(gguf_tensor(g, "token_embd", 10));
		gguf_free(g);
		mk_file_free(&file);
	}
}

static void strings_and_arrays_stay_in_the_file(void **state)
{
	(void)state;
	for (uint32_t version = 1; version <= 3; version++) {
		const size_t width = mk_width(version);
		struct mk_file file = sample_file(version);
		struct gguf *g = read_file(&file);
		const struct kv *kv = gguf_find(g, "general.architecture");

		assert_true(kv && kv->type == KV_STRING && kv->length == 5);
		assert_memory_equal(file.bytes + kv->offset, "llama", 5);
		kv = gguf_find(g, "numbers");
		assert_true(kv && kv->type == KV_ARRAY && kv->element == KV_U32);
		assert_true(kv->count == 3 && kv->length == 12);
		assert_int_equal(kv->offset + kv->length, file.kv_at[3]);
		kv = gguf_find(g, "texts");
		assert_true(kv && kv->type == KV_ARRAY && kv->element == KV_STRING);
		assert_true(kv->count == 2 && kv->length == 2 * width + 1);
		assert_int_equal(kv->offset + kv->length, file.kv_at[4]);
		assert_null(gguf_find(g, "number"));
		assert_null(gguf_find(g, ""));
		gguf_free(g);
		mk_file_free(&file);
	}
}

static const struct {
	enum kv_type type;
	const char *name;
	uint32_t size;
} scalars[] = {
	{ KV_U8, "u8", 1 },   { KV_I8, "i8", 1 },   { KV_U16, "u16", 2 }, { KV_I16, "i16", 2 },
	{ KV_U32, "u32", 4 }, { KV_I32, "i32", 4 }, { KV_F32, "f32", 4 }, { KV_BOOL, "bool", 1 },
	{ KV_U64, "u64", 8 }, { KV_I64, "i64", 8 }, { KV_F64, "f64", 8 },
};

static void every_scalar_type_is_kept_bit_by_bit(void **state)
{
	static const uint8_t value[8] = { 1, 2, 3, 4, 5, 6, 7, 0x88 };
	struct mkgguf *m = mkgguf_new(3);
	struct mk_file file;
	struct gguf *g;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(scalars); i++)
		mkgguf_kv(m, scalars[i].name, strlen(scalars[i].name), scalars[i].type, value,
			  scalars[i].size);
	file = mkgguf_finish(m);
	g = read_file(&file);
	for (size_t i = 0; i < ARRAY_LENGTH(scalars); i++) {
		const struct kv *kv = gguf_find(g, scalars[i].name);
		const uint64_t all = 0x8807060504030201;
		const uint32_t bits = 8 * scalars[i].size;

		assert_non_null(kv);
		assert_int_equal(kv->type, scalars[i].type);
		assert_true(kv->scalar == (bits == 64 ? all : all & ((1ull << bits) - 1)));
		assert_int_equal(kv_type_size(kv->type), scalars[i].size);
		assert_string_equal(kv_type_name(kv->type), scalars[i].name);
	}
	assert_int_equal(kv_type_size(KV_STRING), 0);
	assert_int_equal(kv_type_size(KV_ARRAY), 0);
	assert_string_equal(kv_type_name(KV_STRING), "string");
	assert_string_equal(kv_type_name(KV_ARRAY), "array");
	gguf_free(g);
	mk_file_free(&file);
}

static void an_integer_is_unsigned_if_it_is_not_negative(void **state)
{
	static const struct {
		enum kv_type type;
		uint64_t scalar;
		bool is;
	} cases[] = {
		{ KV_U8, 0xff, true },	       { KV_I8, 0x7f, true },
		{ KV_I8, 0x80, false },	       { KV_U16, 0xffff, true },
		{ KV_I16, 0x8000, false },     { KV_U32, UINT32_MAX, true },
		{ KV_I32, 1u << 31, false },   { KV_I32, 0, true },
		{ KV_U64, UINT64_MAX, true },  { KV_I64, INT64_MAX, true },
		{ KV_I64, UINT64_MAX, false }, { KV_F32, 1, false },
		{ KV_BOOL, 1, false },	       { KV_STRING, 1, false },
		{ KV_ARRAY, 1, false },	       { KV_F64, 1, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		const struct kv kv = { .type = cases[i].type, .scalar = cases[i].scalar };
		uint64_t value = 0;

		assert_int_equal(kv_unsigned(&kv, &value), cases[i].is);
		if (cases[i].is)
			assert_true(value == cases[i].scalar);
	}
}

static void numbers_with_a_point_are_of_two_types(void **state)
{
	const struct kv single = { .type = KV_F32, .scalar = 0x3fc00000 };
	const struct kv wide = { .type = KV_F64, .scalar = 0xc004000000000000 };
	double value = 0;

	(void)state;
	assert_true(kv_real(&single, &value));
	assert_true(value == 1.5);
	assert_true(kv_real(&wide, &value));
	assert_true(value == -2.5);
	for (enum kv_type type = 0; type < KV_TYPES; type++)
		if (type != KV_F32 && type != KV_F64)
			assert_false(kv_real(&(struct kv){ .type = type }, &value));
	assert_true(value == -2.5);
}

static void arrays_of_every_type_are_measured(void **state)
{
	static const uint8_t zeros[64];

	(void)state;
	for (uint32_t version = 1; version <= 3; version++)
		for (uint32_t type = 0; type < KV_TYPES; type++) {
			const size_t each =
				type == KV_STRING ? mk_width(version) : kv_type_size(type);
			struct mkgguf *m = mkgguf_new(version);
			struct mk_file file;
			struct gguf *g;

			if (type == KV_ARRAY) {
				free(m);
				continue;
			}
			mkgguf_kv_array(m, "some", type, 5, zeros, 5 * each);
			mkgguf_kv_array(m, "none", type, 0, NULL, 0);
			file = mkgguf_finish(m);
			g = read_file(&file);
			assert_int_equal(gguf_find(g, "some")->length, 5 * each);
			assert_int_equal(gguf_find(g, "none")->length, 0);
			gguf_free(g);
			mk_file_free(&file);
		}
}

static void a_file_without_tensors_ends_unpadded(void **state)
{
	(void)state;
	for (uint32_t version = 1; version <= 3; version++) {
		struct mkgguf *m = mkgguf_new(version);
		struct mk_file file;
		struct gguf *g;

		mkgguf_kv_string(m, "general.architecture", "llama");
		file = mkgguf_finish(m);
		g = read_file(&file);
		assert_int_equal(g->n_tensors, 0);
		assert_int_equal(g->data_offset, file.size);
		assert_int_equal(g->infos_end, file.size);
		gguf_free(g);
		mk_file_free(&file);
	}
}

static void an_empty_model_is_a_model(void **state)
{
	(void)state;
	for (uint32_t version = 1; version <= 3; version++) {
		struct mk_file file = mkgguf_finish(mkgguf_new(version));
		struct gguf *g = read_file(&file);

		assert_null(gguf_find(g, "general.architecture"));
		gguf_free(g);
		mk_file_free(&file);
	}
}

static void a_header_that_ends_on_the_alignment_is_not_padded(void **state)
{
	unsigned exact = 0;

	(void)state;
	for (size_t n = 0; n < 64; n++) {
		struct mkgguf *m = mkgguf_new(3);
		char value[65] = "";
		struct mk_file file;
		struct gguf *g;

		memset(value, 'x', n);
		mkgguf_kv_string(m, "k", value);
		mkgguf_tensor(m, "t", GGML_F32, 2, ne_matrix);
		file = mkgguf_finish(m);
		g = read_file(&file);
		assert_int_equal(g->data_offset, file.data_at);
		assert_true(g->data_offset % 32 == 0 && g->data_offset - g->infos_end < 32);
		exact += g->infos_end == g->data_offset;
		gguf_free(g);
		mk_file_free(&file);
	}
	assert_int_equal(exact, 2);
}

static void every_power_of_two_aligns(void **state)
{
	(void)state;
	for (uint32_t alignment = 1; alignment <= 1u << 20; alignment *= 2) {
		struct mkgguf *m = sample(3);
		struct mk_file file;
		struct gguf *g;

		mkgguf_alignment(m, alignment);
		file = mkgguf_finish(m);
		g = read_file(&file);
		assert_int_equal(g->alignment, alignment);
		assert_int_equal(g->data_offset, file.data_at);
		gguf_free(g);
		mk_file_free(&file);
	}
}

static void every_number_of_axes_is_read(void **state)
{
	static const uint64_t ne[] = { 2, 3, 5, 7 };
	static const uint64_t sizes[] = { 1, 2, 6, 30, 210 };

	(void)state;
	for (uint32_t version = 1; version <= 3; version++)
		for (uint32_t dims = 0; dims <= GGML_AXES; dims++) {
			struct mkgguf *m = mkgguf_new(version);
			struct mk_file file;
			struct gguf *g;

			mkgguf_tensor(m, "t", GGML_I8, dims, ne);
			file = mkgguf_finish(m);
			g = read_file(&file);
			assert_int_equal(g->tensors[0].dims, dims);
			assert_int_equal(g->tensors[0].size, sizes[dims]);
			gguf_free(g);
			mk_file_free(&file);
		}
}

static void an_axis_of_no_elements_is_accepted(void **state)
{
	static const uint64_t empty[] = { 32, 0 };
	struct mkgguf *m = mkgguf_new(3);
	struct mk_file file;
	struct gguf *g;

	(void)state;
	mkgguf_tensor(m, "a", GGML_Q4_0, 2, empty);
	mkgguf_tensor(m, "b", GGML_F32, 2, ne_matrix);
	mkgguf_tensor(m, "c", GGML_Q4_0, 2, empty);
	file = mkgguf_finish(m);
	g = read_file(&file);
	assert_int_equal(g->tensors[0].size, 0);
	assert_int_equal(g->tensors[0].offset, g->tensors[1].offset);
	assert_int_equal(g->tensors[2].offset, g->size);
	assert_false(g->overlap);
	gguf_free(g);
	mk_file_free(&file);
}

static void names_of_any_bytes_and_length_are_accepted(void **state)
{
	static char names[7][5000] = { "", "..", "a\0b", "a\0c", "A", "a" };
	static const size_t lengths[] = { 0, 2, 3, 3, 1, 1, 5000 };
	struct mkgguf *m = mkgguf_new(3);
	struct mk_file file;
	struct gguf *g;

	(void)state;
	memset(names[6], 0xff, sizeof(names[6]));
	for (size_t i = 0; i < ARRAY_LENGTH(lengths); i++) {
		struct mk_tensor *t = mkgguf_tensor(m, "", GGML_I8, 1, ne_vector);

		t->name = names[i];
		t->name_length = lengths[i];
	}
	file = mkgguf_finish(m);
	g = read_file(&file);
	for (size_t i = 0; i < ARRAY_LENGTH(lengths); i++) {
		assert_int_equal(g->tensors[i].name_length, lengths[i]);
		assert_ptr_equal(gguf_tensor(g, names[i], lengths[i]), &g->tensors[i]);
		assert_int_equal(g->tensors[i].name[lengths[i]], '\0');
	}
	gguf_free(g);
	mk_file_free(&file);
}

static void keys_may_hold_nuls(void **state)
{
	struct mkgguf *m = mkgguf_new(3);
	struct mk_file file;
	struct gguf *g;

	(void)state;
	mkgguf_kv(m, "k\0a", 3, KV_BOOL, "\7", 1);
	mkgguf_kv(m, "k\0b", 3, KV_BOOL, "\1", 1);
	file = mkgguf_finish(m);
	g = read_file(&file);
	assert_int_equal(g->kv[0].key_length, 3);
	assert_memory_equal(g->kv[1].key, "k\0b", 4);
	assert_int_equal(g->kv[0].scalar, 7);
	assert_null(gguf_find(g, "k"));
	gguf_free(g);
	mk_file_free(&file);
}

static void many_tensors_and_keys_are_read(void **state)
{
	enum { MANY = 20000 };
	struct mkgguf *m = mkgguf_new(3);
	char(*names)[16] = malloc(MANY * sizeof(*names));
	struct mk_file file;
	struct gguf *g;

	(void)state;
	assert_non_null(names);
	for (uint32_t i = 0; i < MANY; i++) {
		snprintf(names[i], sizeof(names[i]), "blk.%u.x", i);
		mkgguf_tensor(m, names[i], GGML_I8, 1, ne_vector);
		if (i % 10 == 0)
			mkgguf_kv_u32(m, names[i], i);
	}
	file = mkgguf_finish(m);
	g = read_file(&file);
	for (uint32_t i = 0; i < MANY; i++) {
		assert_ptr_equal(gguf_tensor(g, names[i], strlen(names[i])), &g->tensors[i]);
		if (i % 10 == 0)
			assert_int_equal(gguf_find(g, names[i])->scalar, i);
	}
	gguf_free(g);
	mk_file_free(&file);
	free(names);
}

static void tensors_are_ordered_by_where_they_lie(void **state)
{
	static const uint32_t expected[] = { 3, 1, 0, 2 };
	static const uint64_t offsets[] = { 128, 64, 640, 0 };
	struct mkgguf *m = mkgguf_new(3);
	struct mk_file file;
	struct gguf *g;

	(void)state;
	for (uint32_t i = 0; i < 4; i++)
		mkgguf_tensor(m, &"a\0b\0c\0d"[2 * i], GGML_I8, 1, ne_vector)->offset = offsets[i];
	m->tensors[3].size = 1000;
	file = mkgguf_finish(m);
	g = read_file(&file);
	assert_memory_equal(g->order, expected, sizeof(expected));
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(g->tensors[i].offset, file.data_at + offsets[i]);
	assert_false(g->overlap);
	gguf_free(g);
	mk_file_free(&file);
}

static void an_unknown_type_reaches_to_the_next_tensor(void **state)
{
	struct mkgguf *m = mkgguf_new(3);
	struct mk_file file;
	struct gguf *g;

	(void)state;
	mkgguf_tensor(m, "a", 97, 2, ne_matrix)->size = 70;
	mkgguf_tensor(m, "b", GGML_F32, 2, ne_matrix);
	mkgguf_tensor(m, "c", 36, 2, ne_matrix)->size = 10;
	mkgguf_tensor(m, "d", UINT32_MAX, 2, ne_matrix)->size = 33;
	file = mkgguf_finish(m);
	g = read_file(&file);
	assert_int_equal(g->tensors[0].size, 96);
	assert_int_equal(g->tensors[1].size, 384);
	assert_int_equal(g->tensors[2].size, 32);
	assert_int_equal(g->tensors[3].size, 64);
	assert_int_equal(g->tensors[3].type, UINT32_MAX);
	assert_false(g->overlap);
	gguf_free(g);
	mk_file_free(&file);
}

static void two_unknown_types_at_one_place_share_its_bytes(void **state)
{
	struct mkgguf *m = mkgguf_new(3);
	struct mk_file file;
	struct gguf *g;

	(void)state;
	mkgguf_tensor(m, "a", 97, 2, ne_matrix)->offset = 0;
	mkgguf_tensor(m, "b", 97, 2, ne_matrix)->offset = 0;
	mkgguf_tensor(m, "c", 97, 2, ne_matrix)->offset = 64;
	file = mkgguf_finish(m);
	g = read_file(&file);
	assert_int_equal(g->tensors[0].size, 64);
	assert_int_equal(g->tensors[1].size, 64);
	assert_int_equal(g->tensors[2].size, g->size - g->tensors[2].offset);
	assert_true(g->overlap);
	gguf_free(g);
	mk_file_free(&file);
}

/* A tensor of 384 bytes, and another one within or behind it. */
static void a_tensor_is_short_where_another_one_begins_in_it(void **state)
{
	static const struct {
		uint64_t offset;
		bool overlap, is_short;
	} cases[] = { { 0, true, false },
		      { 32, false, true },
		      { 352, false, true },
		      { 383, false, true },
		      { 384, false, false } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct mkgguf *m = mkgguf_new(3);
		struct mk_file file;
		struct gguf *g;

		mkgguf_tensor(m, "small", GGML_I8, 1, ne_vector)->offset = cases[i].offset;
		mkgguf_tensor(m, "large", GGML_F32, 2, ne_matrix)->offset = 0;
		file = mkgguf_finish(m);
		g = read_file(&file);
		assert_int_equal(g->overlap, cases[i].overlap);
		assert_int_equal(type_is_short(g->tensors[1].type), cases[i].is_short);
		assert_int_equal(type_id(g->tensors[1].type), GGML_F32);
		assert_int_equal(g->tensors[1].size, cases[i].is_short ? cases[i].offset : 384);
		assert_int_equal(g->tensors[0].type, GGML_I8);
		gguf_free(g);
		mk_file_free(&file);
	}
}

static void a_file_of_less_than_a_magic_is_refused_at_its_end(void **state)
{
	(void)state;
	for (size_t n = 0; n < 4; n++)
		assert_bytes_refused("GGUF", n, EBADMSG, n);
	assert_bytes_refused("GGUF", 4, EBADMSG, 4);
}

static void another_magic_is_refused_at_the_first_byte(void **state)
{
	static const char lfs[] = "version https://git-lfs.github.com/spec/v1\n";
	struct mk_file file = sample_file(3);

	(void)state;
	memcpy(file.bytes, "GGML", 4);
	assert_file_refused(&file, EBADMSG, 0);
	memcpy(file.bytes, "FUGG", 4);
	assert_file_refused(&file, ENOTSUP, 0);
	assert_bytes_refused(lfs, sizeof(lfs) - 1, EBADMSG, 0);
	assert_bytes_refused("vers", 4, EBADMSG, 0);
	mk_file_free(&file);
}

static void a_git_lfs_pointer_is_told_apart(void **state)
{
	static const char lfs[] = "version https://git-lfs.github.com/spec/v1\n";
	struct error err;

	(void)state;
	assert_null(read_bytes(lfs, sizeof(lfs) - 1, &err));
	assert_non_null(strstr(err.text, "LFS"));
}

static void other_versions_are_refused_at_the_version(void **state)
{
	static const uint32_t versions[] = { 0,		 4,	     5,		 0x01000000,
					     0x02000000, 0x03000000, 0x00010000, UINT32_MAX };
	struct mk_file file = sample_file(3);

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(versions); i++) {
		mk_poke_u32(&file, 4, versions[i]);
		assert_file_refused(&file, ENOTSUP, 4);
	}
	mk_file_free(&file);
}

static void counts_beyond_the_file_are_refused_where_they_stand(void **state)
{
	static const uint64_t counts[] = { 1000,       1u << 31,   UINT32_MAX,
					   1ull << 40, 1ull << 63, UINT64_MAX };

	(void)state;
	for (uint32_t version = 1; version <= 3; version++) {
		const size_t width = mk_width(version);

		for (size_t i = 0; i < (version == 1 ? 3 : ARRAY_LENGTH(counts)); i++) {
			struct mk_file file = sample_file(version);

			mk_poke_length(&file, version, 8, counts[i]);
			assert_file_refused(&file, EBADMSG, 8);
			mk_poke_length(&file, version, 8, 3);
			mk_poke_length(&file, version, 8 + width, counts[i]);
			assert_file_refused(&file, EBADMSG, 8 + width);
			mk_file_free(&file);
		}
	}
}

/* A count may be as large as the bytes allow; its entries are then read one by one. */
static void a_count_that_could_just_fit_is_refused_later(void **state)
{
	struct mk_file file = sample_file(3);

	(void)state;
	mk_poke_u64(&file, 8, (file.size - 24) / 24);
	assert_file_refused_within(&file, EBADMSG, file.info_at[3], file.size + 1);
	mk_poke_u64(&file, 8, (file.size - 24) / 24 + 1);
	assert_file_refused(&file, EBADMSG, 8);
	mk_file_free(&file);
}

static void a_key_longer_than_the_file_is_refused_at_its_length(void **state)
{
	static const uint64_t lengths[] = { 1u << 31,  UINT32_MAX, 1ull << 30,
					    INT64_MAX, 1ull << 63, UINT64_MAX };

	(void)state;
	for (uint32_t version = 1; version <= 3; version++) {
		struct mk_file file = sample_file(version);

		for (size_t i = 0; i < (version == 1 ? 3 : ARRAY_LENGTH(lengths)); i++) {
			mk_poke_length(&file, version, file.kv_at[1], lengths[i]);
			assert_file_refused(&file, EBADMSG, file.kv_at[1]);
		}
		mk_file_free(&file);
	}
}

static void a_key_longer_than_the_specification_allows_is_refused(void **state)
{
	(void)state;
	for (size_t n = 65534; n <= 65537; n++) {
		struct mkgguf *m = mkgguf_new(3);
		char *key = malloc(n);
		struct mk_file file;

		assert_non_null(key);
		memset(key, 'k', n);
		mkgguf_kv(m, key, n, KV_BOOL, "\1", 1);
		file = mkgguf_finish(m);
		if (n > 65535)
			assert_file_refused(&file, EBADMSG, 24);
		else
			gguf_free(read_file(&file));
		mk_file_free(&file);
		free(key);
	}
}

static void an_empty_key_is_refused_where_its_entry_begins(void **state)
{
	struct mkgguf *m = sample(3);
	struct mk_file file;

	(void)state;
	mkgguf_kv(m, "", 0, KV_BOOL, "\1", 1);
	file = mkgguf_finish(m);
	assert_file_refused(&file, EBADMSG, file.kv_at[4]);
	mk_file_free(&file);
}

static void a_key_that_occurs_twice_is_refused_the_second_time(void **state)
{
	struct mkgguf *m = sample(3);
	struct mk_file file;

	(void)state;
	mkgguf_kv_u32(m, "numbers", 1);
	file = mkgguf_finish(m);
	assert_file_refused(&file, EBADMSG, file.kv_at[4]);
	mk_file_free(&file);
}

static void an_unknown_value_type_is_refused_where_it_stands(void **state)
{
	static const uint32_t types[] = { 13, 0x100, 1u << 31, UINT32_MAX };

	(void)state;
	for (uint32_t version = 1; version <= 3; version++) {
		struct mk_file file = sample_file(version);
		const size_t at = file.kv_at[1] + mk_width(version) + 17;

		for (size_t i = 0; i < ARRAY_LENGTH(types); i++) {
			mk_poke_u32(&file, at, types[i]);
			assert_file_refused(&file, EBADMSG, at);
		}
		mk_file_free(&file);
	}
}

static void a_text_longer_than_the_file_is_refused_at_its_length(void **state)
{
	static const uint64_t lengths[] = { 1000000, 1u << 31, UINT32_MAX, 1ull << 63, UINT64_MAX };

	(void)state;
	for (uint32_t version = 1; version <= 3; version++) {
		struct mk_file file = sample_file(version);
		const size_t at = file.kv_at[1] - 5 - mk_width(version);

		for (size_t i = 0; i < (version == 1 ? 3 : ARRAY_LENGTH(lengths)); i++) {
			mk_poke_length(&file, version, at, lengths[i]);
			assert_file_refused(&file, EBADMSG, at);
		}
		mk_file_free(&file);
	}
}

static void an_array_of_an_unknown_type_is_refused_at_the_type(void **state)
{
	struct mk_file file = sample_file(3);
	const size_t at = file.kv_at[2] + 8 + 7 + 4;

	(void)state;
	mk_poke_u32(&file, at, 13);
	assert_file_refused(&file, EBADMSG, at);
	mk_poke_u32(&file, at, UINT32_MAX);
	assert_file_refused(&file, EBADMSG, at);
	mk_file_free(&file);
}

static void an_array_of_arrays_is_not_supported(void **state)
{
	struct mk_file file = sample_file(3);
	const size_t at = file.kv_at[2] + 8 + 7 + 4;

	(void)state;
	mk_poke_u32(&file, at, KV_ARRAY);
	assert_file_refused(&file, ENOTSUP, at);
	mk_file_free(&file);
}

/* The counts are chosen so that count times size wraps to a small number. */
static void an_array_longer_than_the_file_is_refused_at_its_type(void **state)
{
	static const uint64_t counts[] = { 1u << 30,	       UINT32_MAX,	   1ull << 62,
					   0x2000000000000001, 0x4000000000000001, UINT64_MAX };

	(void)state;
	for (uint32_t type = 0; type < KV_TYPES; type++)
		for (size_t i = 0; type != KV_ARRAY && i < ARRAY_LENGTH(counts); i++) {
			struct mk_file file = sample_file(3);
			const size_t at = file.kv_at[2] + 8 + 7 + 4;

			mk_poke_u32(&file, at, type);
			mk_poke_u64(&file, at + 4, counts[i]);
			assert_file_refused(&file, EBADMSG, at);
			mk_file_free(&file);
		}
}

static void a_text_in_an_array_that_leaves_the_file_is_refused_at_its_length(void **state)
{
	static const uint64_t lengths[] = { 1000000, 1u << 31, 1ull << 63, UINT64_MAX };
	struct mk_file file = sample_file(3);
	const size_t second = file.kv_at[4] - 8;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(lengths); i++) {
		mk_poke_u64(&file, second, lengths[i]);
		assert_file_refused(&file, EBADMSG, second);
	}
	mk_file_free(&file);
}

/* A file whose last entry is general.alignment, of this type and value. */
static struct mk_file aligned(uint32_t version, uint32_t type, uint64_t value, size_t n)
{
	struct mkgguf *m = sample(version);

	mkgguf_kv(m, "general.alignment", 17, type, &value, n);
	return mkgguf_finish(m);
}

static void a_wrong_alignment_is_refused_in_its_entry(void **state)
{
	static const uint32_t values[] = { 0, 3, 13, 33, 0x80000001, UINT32_MAX };

	(void)state;
	for (uint32_t version = 1; version <= 3; version++)
		for (size_t i = 0; i < ARRAY_LENGTH(values); i++) {
			struct mk_file file = aligned(version, KV_U32, values[i], 4);

			assert_file_refused_within(&file, EBADMSG, file.kv_at[4], file.kv_at[5]);
			mk_file_free(&file);
		}
}

static void an_alignment_of_another_type_is_refused_in_its_entry(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(scalars); i++) {
		struct mk_file file = aligned(3, scalars[i].type, 32, scalars[i].size);

		if (scalars[i].type != KV_U32)
			assert_file_refused_within(&file, EBADMSG, file.kv_at[4], file.kv_at[5]);
		mk_file_free(&file);
	}
}

static void an_alignment_beyond_the_file_is_refused(void **state)
{
	(void)state;
	for (uint32_t value = 1u << 20; value; value *= 2) {
		struct mk_file file = aligned(3, KV_U32, value, 4);
		struct error err;

		assert_null(read_bytes(file.bytes, file.size, &err));
		assert_int_equal(err.code, EBADMSG);
		mk_file_free(&file);
	}
}

static void more_than_four_axes_are_refused_where_they_are_counted(void **state)
{
	static const uint32_t dims[] = { 5, 8, 9, 100, 1000000, 1u << 31, UINT32_MAX };

	(void)state;
	for (uint32_t version = 1; version <= 3; version++) {
		struct mk_file file = sample_file(version);
		const size_t at = dims_at(&file, version, 1);

		for (size_t i = 0; i < ARRAY_LENGTH(dims); i++) {
			mk_poke_u32(&file, at, dims[i]);
			assert_file_refused(&file, EBADMSG, at);
		}
		mk_file_free(&file);
	}
}

static void a_name_longer_than_the_file_is_refused_at_its_length(void **state)
{
	static const uint64_t lengths[] = { 1u << 31, UINT32_MAX, 1ull << 63, UINT64_MAX };

	(void)state;
	for (uint32_t version = 1; version <= 3; version++) {
		struct mk_file file = sample_file(version);

		for (size_t i = 0; i < (version == 1 ? 2 : ARRAY_LENGTH(lengths)); i++) {
			mk_poke_length(&file, version, file.info_at[1], lengths[i]);
			assert_file_refused(&file, EBADMSG, file.info_at[1]);
		}
		mk_file_free(&file);
	}
}

static void a_name_that_occurs_twice_is_refused_the_second_time(void **state)
{
	struct mkgguf *m = sample(3);
	struct mk_file file;

	(void)state;
	mkgguf_tensor(m, "token_embd.weight", GGML_I8, 1, ne_vector);
	file = mkgguf_finish(m);
	assert_file_refused(&file, EBADMSG, file.info_at[3]);
	mk_file_free(&file);
}

static void a_shape_no_file_can_hold_is_refused_at_its_tensor(void **state)
{
	static const uint64_t shapes[][4] = {
		{ 1ull << 63, 1, 1, 1 },
		{ UINT64_MAX, 1, 1, 1 },
		{ 32, UINT64_MAX, 1, 1 },
		{ 1ull << 32, 1ull << 32, 1, 1 },
		{ 4194304, 4194304, 1ull << 20, 1 },
		{ 1ull << 16, 1ull << 16, 1ull << 16, 1ull << 16 },
		{ 1ull << 62, 1, 1, 1 },
	};
	static const uint32_t types[] = { GGML_F32, GGML_F64, GGML_I32 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(shapes); i++)
		for (size_t j = 0; j < ARRAY_LENGTH(types); j++) {
			struct mkgguf *m = sample(3);
			struct mk_file file;

			mkgguf_tensor(m, "t", types[j], 4, shapes[i])->size = 64;
			file = mkgguf_finish(m);
			assert_file_refused(&file, EBADMSG, file.info_at[3]);
			mk_file_free(&file);
		}
}

static void an_unknown_type_needs_a_believable_shape_too(void **state)
{
	static const uint64_t ne[] = { 4194305, 4194305, 211106198978564 };
	struct mkgguf *m = sample(3);
	struct mk_file file;

	(void)state;
	mkgguf_tensor(m, "t", 97, 3, ne);
	file = mkgguf_finish(m);
	assert_file_refused(&file, EBADMSG, file.info_at[3]);
	mk_file_free(&file);
}

static void a_row_of_half_a_block_is_refused_at_its_tensor(void **state)
{
	static const uint32_t types[] = { GGML_Q4_0, GGML_Q4_K, GGML_NVFP4, GGML_Q1_0 };
	static const uint64_t ne[] = { 16, 32 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(types); i++) {
		struct mkgguf *m = sample(3);
		struct mk_file file;

		mkgguf_tensor(m, "t", types[i], 2, ne);
		file = mkgguf_finish(m);
		assert_file_refused(&file, EBADMSG, file.info_at[3]);
		mk_file_free(&file);
	}
}

/* The offsets are beyond the end, or wrap back into the file when the data's start is added. */
static void a_tensor_outside_the_file_is_refused_in_its_info(void **state)
{
	(void)state;
	for (uint32_t version = 1; version <= 3; version++) {
		struct mk_file file = sample_file(version);
		const uint64_t offsets[] = {
			file.size - file.data_at + 1, 1ull << 40, 1ull << 63, UINT64_MAX,
			0 - (uint64_t)file.data_at,   0 - 32ull
		};

		for (size_t i = 0; i < ARRAY_LENGTH(offsets); i++) {
			mk_poke_u64(&file, offset_at(&file, 1), offsets[i]);
			assert_file_refused_within(&file, EBADMSG, file.info_at[1],
						   file.info_at[2]);
		}
		mk_file_free(&file);
	}
}

static void a_tensor_longer_than_the_file_is_refused_where_it_begins(void **state)
{
	struct mk_file file = sample_file(3);

	(void)state;
	/* The last tensor moves until its last byte is the first missing one. */
	mk_poke_u64(&file, offset_at(&file, 2), file.size - file.data_at - 2 * ne_vector[0] + 1);
	assert_file_refused(&file, EBADMSG, file.size - 2 * ne_vector[0] + 1);
	mk_poke_u64(&file, offset_at(&file, 2), file.size - file.data_at - 2 * ne_vector[0]);
	gguf_free(read_file(&file));
	mk_file_free(&file);
}

static void a_tensor_without_bytes_makes_none_short(void **state)
{
	static const uint64_t nothing[] = { 0 };
	struct mkgguf *m = mkgguf_new(3);
	struct mk_file file;
	struct gguf *g;

	(void)state;
	mkgguf_tensor(m, "large", GGML_F32, 2, ne_matrix)->offset = 0;
	mkgguf_tensor(m, "none", GGML_F32, 1, nothing)->offset = 64;
	mkgguf_tensor(m, "next", GGML_F32, 2, ne_matrix)->offset = 384;
	mkgguf_tensor(m, "end", GGML_F32, 1, nothing)->offset = 768;
	file = mkgguf_finish(m);
	g = read_file(&file);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(g->tensors[i].type, GGML_F32);
	assert_int_equal(g->tensors[0].size, 384);
	assert_false(g->overlap);
	gguf_free(g);
	mk_file_free(&file);
}

/* The blocks of 18 bytes have another layout: all tensors are short, and the last one ends with
 * the file. */
static void a_short_last_tensor_is_no_end_of_the_file_if_others_are_short(void **state)
{
	static const uint64_t ne[] = { 64, 64 };
	struct mkgguf *m = mkgguf_new(3);
	struct mk_file file;
	struct gguf *g;

	(void)state;
	for (int i = 0; i < 3; i++)
		mkgguf_tensor(m, i == 0 ? "a" : i == 1 ? "b" : "c", GGML_Q2_0, 2, ne)->size = 1088;
	file = mkgguf_finish(m);
	g = read_file(&file);
	for (int i = 0; i < 3; i++) {
		assert_true(type_is_short(g->tensors[i].type));
		assert_int_equal(type_id(g->tensors[i].type), GGML_Q2_0);
		assert_int_equal(g->tensors[i].size, 1088);
	}
	assert_false(g->overlap);
	gguf_free(g);
	mk_file_free(&file);
	/* If only the last tensor is short, the file is incomplete. */
	m = mkgguf_new(3);
	mkgguf_tensor(m, "a", GGML_Q2_0, 2, ne);
	mkgguf_tensor(m, "c", GGML_Q2_0, 2, ne)->size = 1088;
	file = mkgguf_finish(m);
	assert_file_refused(&file, EBADMSG, file.size - 1088);
	mk_file_free(&file);
}

static void a_type_that_marks_short_tensors_is_refused(void **state)
{
	struct mk_file file = sample_file(3);

	(void)state;
	mk_poke_u32(&file, type_at(&file, 1), TYPE_SHORT + GGML_F32);
	assert_file_refused(&file, EBADMSG, file.info_at[1]);
	mk_poke_u32(&file, type_at(&file, 1), TYPE_SHORT + TYPE_IDS);
	gguf_free(read_file(&file));
	mk_file_free(&file);
}

static void a_type_that_needs_more_bytes_than_there_are_is_refused(void **state)
{
	struct mk_file file = sample_file(3);

	(void)state;
	mk_poke_u32(&file, type_at(&file, 2), GGML_F64);
	assert_file_refused(&file, EBADMSG, file.data_at + 384 + 64);
	mk_file_free(&file);
}

/* The refusal of each prefix names a byte within the prefix. */
static void every_prefix_is_refused(void **state)
{
	(void)state;
	for (uint32_t version = 1; version <= 3; version++) {
		struct mkgguf *m = sample(version);
		struct mk_file file;

		m->final_padding = false;
		file = mkgguf_finish(m);
		gguf_free(read_file(&file));
		for (size_t n = 0; n < file.size; n++) {
			uint8_t *exact = mk_copy(file.bytes, n);
			struct error err;

			assert_null(read_bytes(exact, n, &err));
			assert_int_equal(err.code, EBADMSG);
			assert_true(err.offset <= n || err.offset == ERROR_NO_OFFSET);
			assert_true(err.text[0]);
			free(exact);
		}
		mk_file_free(&file);
	}
}

static void assert_cut(const struct mk_file *file, const size_t *fields, size_t n_fields)
{
	for (size_t i = 0; i < n_fields; i++)
		for (size_t n = fields[i]; n < fields[i] + 4; n++)
			assert_bytes_refused(file->bytes, n, EBADMSG, fields[i]);
}

/* The error names the first byte of the cut field. */
static void a_cut_field_is_named_by_its_first_byte(void **state)
{
	struct mk_file file = sample_file(3);
	const size_t header[] = { 4, 8, 16 };
	const size_t kv[] = { file.kv_at[1] + 8 + 17, file.kv_at[2] - 4, file.kv_at[3] };
	const size_t info[] = { file.info_at[2], file.info_at[0] + 8 + 17,
				file.info_at[0] + 8 + 17 + 4 + 8, type_at(&file, 2),
				offset_at(&file, 2) };

	(void)state;
	assert_cut(&file, header, ARRAY_LENGTH(header));
	assert_cut(&file, info, ARRAY_LENGTH(info));
	/* The count must not be refused before the reader meets the end. */
	mk_poke_u64(&file, 8, 0);
	assert_cut(&file, kv, ARRAY_LENGTH(kv));
	mk_file_free(&file);
}

struct failing {
	const struct mk_file *file;
	unsigned reads, fail_at;
};

static int failing_read_at(void *context, void *bytes, size_t n, uint64_t offset)
{
	struct failing *f = context;

	assert_true(offset <= f->file->size && n <= f->file->size - offset);
	if (++f->reads == f->fail_at)
		return -EIO;
	memcpy(bytes, f->file->bytes + offset, n);
	return 0;
}

/* A file with a megabyte of metadata, for more than one read that can fail. */
static struct mk_file large_header(void)
{
	struct mkgguf *m = mkgguf_new(3);
	static char names[2000][600];

	for (uint32_t i = 0; i < ARRAY_LENGTH(names); i++) {
		memset(names[i], 'k', 500);
		snprintf(names[i] + 500, 20, "%u", i);
		mkgguf_kv_u32(m, names[i], i);
	}
	for (uint32_t i = 0; i < ARRAY_LENGTH(names); i++)
		mkgguf_tensor(m, names[i], GGML_I8, 1, ne_vector);
	return mkgguf_finish(m);
}

static void each_failing_read_is_an_io_error(void **state)
{
	struct mk_file file = large_header();
	struct error err;
	unsigned k;

	(void)state;
	for (k = 1;; k++) {
		struct failing failing = { &file, 0, k };
		const struct source source = { failing_read_at, &failing, file.size };
		struct gguf *g = gguf_read(&source, &err);

		if (failing.reads < k) {
			assert_non_null(g);
			gguf_free(g);
			break;
		}
		assert_null(g);
		assert_int_equal(err.code, EIO);
		assert_true(err.text[0]);
	}
	assert_true(k > 4);
	mk_file_free(&file);
}

static void each_failing_allocation_is_reported(void **state)
{
	struct mk_file file;
	struct error err;
	struct gguf *g;

	(void)state;
	needs_failing_allocations();
	file = sample_file(3);
	for (uint64_t k = 1;; k++) {
		allocation_fails(k);
		g = read_bytes(file.bytes, file.size, &err);
		if (!allocation_failed())
			break;
		assert_null(g);
		assert_refused(-err.code, &err, ENOMEM, ERROR_NO_OFFSET);
	}
	assert_non_null(g);
	gguf_free(g);
	mk_file_free(&file);
}

static void error_may_be_null(void **state)
{
	struct memory_bytes memory = { (const uint8_t *)"none", 4 };
	const struct source source = source_of_memory(&memory);

	(void)state;
	assert_null(gguf_read(&source, NULL));
	gguf_free(NULL);
}

UNIT_MAIN(NULL, NULL)
