/* SPDX-License-Identifier: MIT */
/* test_organ.c - gguf/organ.c: the organ header, read and written, and organs that fit a slot. */
#include "gguf/bytes.h"
#include "gguf/cursor.h"
#include "gguf/organ.h"
#include "gguf/reader.h"
#include "tests/unit/unit.h"

/* An organ file in memory, and the offsets of its parts. */
struct organ_bytes {
	uint8_t *bytes;
	size_t size, dims_at, type_at, data_at;
};

static struct organ_bytes make_organ(const char *name, size_t name_length, uint32_t type,
				     uint32_t dims, const uint64_t *ne, size_t data)
{
	struct organ_bytes o = { .dims_at = 4 + name_length };
	uint8_t *at;

	o.type_at = o.dims_at + 4 + 8 * (size_t)dims;
	o.data_at = o.type_at + 4;
	o.size = o.data_at + data;
	o.bytes = malloc(o.size);
	assert_non_null(o.bytes);
	at = store_u32(o.bytes, (uint32_t)name_length);
	at = store_bytes(at, name, name_length);
	at = store_u32(at, dims);
	for (uint32_t i = 0; i < dims; i++)
		at = store_u64(at, ne[i]);
	at = store_u32(at, type);
	for (size_t i = 0; i < data; i++)
		at[i] = mk_byte(0, i);
	return o;
}

static const uint64_t small_shape[] = { 4, 2 };

static struct organ_bytes small_organ(void)
{
	return make_organ("blk.0.ffn_up.weight", 19, GGML_F32, 2, small_shape, 32);
}

/* Parse the first n bytes, copied to a block of exactly that size. */
static int parse(const void *bytes, size_t n, struct organ *organ, struct error *err)
{
	uint8_t *exact = mk_copy(bytes, n);
	struct memory_bytes memory = { exact, n };
	const struct source source = source_of_memory(&memory);
	int rc;

	*err = (struct error){ 0 };
	rc = organ_parse(&source, organ, err);
	free(exact);
	if (rc < 0)
		assert_null(organ->name);
	return rc;
}

static void forget(struct organ *organ)
{
	free((char *)organ->name);
	organ->name = NULL;
}

/* Check that the parsed fields match the bytes, and that writing them gives the same header. */
static void assert_round_trip(const struct organ_bytes *o)
{
	struct organ organ;
	struct error err;
	uint8_t *header;

	assert_int_equal(parse(o->bytes, o->size, &organ, &err), 0);
	assert_int_equal(organ.header_size, o->data_at);
	assert_int_equal(organ.data_size, o->size - o->data_at);
	header = malloc(o->data_at);
	assert_non_null(header);
	organ_write_header(&organ, header);
	assert_memory_equal(header, o->bytes, o->data_at);
	free(header);
	forget(&organ);
}

static void parsed_organ_has_the_fields_of_its_header(void **state)
{
	struct organ_bytes o = small_organ();
	struct organ organ;
	struct error err;

	(void)state;
	assert_int_equal(parse(o.bytes, o.size, &organ, &err), 0);
	assert_int_equal(organ.name_length, 19);
	assert_string_equal(organ.name, "blk.0.ffn_up.weight");
	assert_int_equal(organ.dims, 2);
	assert_true(organ.ne[0] == 4 && organ.ne[1] == 2 && organ.ne[2] == 1 && organ.ne[3] == 1);
	assert_int_equal(organ.type, GGML_F32);
	assert_int_equal(organ.header_size, 4 + 19 + 4 + 16 + 4);
	assert_int_equal(organ.data_size, 32);
	forget(&organ);
	free(o.bytes);
}

static void every_type_goes_round(void **state)
{
	(void)state;
	for (uint32_t type = 0; type < GGML_TYPES; type++) {
		const struct type_info *info = type_find(type);
		const uint64_t ne[] = { info ? 2 * info->block_elements : 7, 3 };
		const size_t data = info ? 6 * (size_t)info->block_bytes : 11;
		struct organ_bytes o = make_organ("x", 1, type, 2, ne, data);

		assert_round_trip(&o);
		free(o.bytes);
	}
}

static void every_number_of_axes_goes_round(void **state)
{
	static const uint64_t ne[] = { 2, 3, 1, 1 };
	static const size_t data[] = { 1, 2, 6, 6, 6 };

	(void)state;
	for (uint32_t dims = 0; dims <= GGML_AXES; dims++) {
		struct organ_bytes o = make_organ("x", 1, GGML_I8, dims, ne, data[dims]);

		assert_round_trip(&o);
		free(o.bytes);
	}
}

static void every_name_goes_round(void **state)
{
	static char name[65535];
	static const size_t lengths[] = { 0, 1, 63, 64, 300, 5000, 65535 };

	(void)state;
	memset(name, 'n', sizeof(name));
	name[0] = '\0';
	for (size_t i = 0; i < ARRAY_LENGTH(lengths); i++) {
		struct organ_bytes o = make_organ(name, lengths[i], GGML_F32, 2, small_shape, 32);

		assert_round_trip(&o);
		free(o.bytes);
	}
}

static void an_organ_without_data_goes_round(void **state)
{
	static const uint64_t ne[] = { 32, 0 };
	struct organ_bytes o = make_organ("x", 1, GGML_Q4_0, 2, ne, 0);

	(void)state;
	assert_round_trip(&o);
	free(o.bytes);
}

static void a_tensor_becomes_an_organ_with_its_header(void **state)
{
	const struct gguf_tensor tensor = { "x", 1, 2, { 4, 2, 1, 1 }, GGML_F32, 0, 999, 32 };
	const struct organ organ = organ_of_tensor(&tensor);
	struct organ_bytes o = make_organ("x", 1, GGML_F32, 2, small_shape, 32);
	uint8_t header[29];

	(void)state;
	assert_int_equal(organ.header_size, sizeof(header));
	assert_int_equal(organ.data_size, 32);
	organ_write_header(&organ, header);
	assert_memory_equal(header, o.bytes, sizeof(header));
	free(o.bytes);
}

static void organ_one_byte_short_is_refused_at_its_end(void **state)
{
	struct organ_bytes o = small_organ();
	struct organ organ;
	struct error err;

	(void)state;
	assert_refused(parse(o.bytes, o.size - 1, &organ, &err), &err, EBADMSG, o.size - 1);
	free(o.bytes);
}

static void organ_one_byte_long_is_refused_at_that_byte(void **state)
{
	struct organ_bytes o = make_organ("x", 1, GGML_F32, 2, small_shape, 33);
	struct organ organ;
	struct error err;

	(void)state;
	assert_refused(parse(o.bytes, o.size, &organ, &err), &err, EBADMSG, o.size - 1);
	assert_string_equal(err.text, "F32 of shape 4x2 has 32 bytes of data, but the file has 33");
	free(o.bytes);
}

static void every_prefix_is_refused_where_it_ends(void **state)
{
	struct organ_bytes o = small_organ();
	struct organ organ;
	struct error err;

	(void)state;
	for (size_t n = 0; n < o.size; n++) {
		size_t at = n;

		/* In the header the error names the first byte of the cut field. */
		if (n < o.dims_at)
			at = 0;
		else if (n < o.dims_at + 4)
			at = o.dims_at;
		else if (n < o.type_at)
			at = n - (n - o.dims_at - 4) % 8;
		else if (n < o.data_at)
			at = o.type_at;
		assert_refused(parse(o.bytes, n, &organ, &err), &err, EBADMSG, at);
		if (n == 0)
			assert_string_equal(err.text,
					    "the file ends inside the header of an organ");
	}
	free(o.bytes);
}

static void a_file_of_another_format_is_named(void **state)
{
	uint8_t bytes[128] = { 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, 118 };
	struct organ organ;
	struct error err;

	(void)state;
	assert_int_equal(parse(bytes, sizeof(bytes), &organ, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "NumPy"));
	bytes[5] = 'X';
	assert_int_equal(parse(bytes, sizeof(bytes), &organ, &err), -EBADMSG);
	assert_null(strstr(err.text, "NumPy"));
	assert_int_equal(parse(bytes, 5, &organ, &err), -EBADMSG);
	memcpy(bytes, "GGUF\3\0", 6);
	assert_int_equal(parse(bytes, sizeof(bytes), &organ, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "a GGUF file"));
}

static void a_name_longer_than_the_file_is_refused(void **state)
{
	static const uint32_t lengths[] = {
		29 + 32, 65536, 65537, 0x7fffffff, 1u << 31, UINT32_MAX
	};
	struct organ_bytes o = make_organ("x", 1, GGML_F32, 2, small_shape, 32);
	struct organ organ;
	struct error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(lengths); i++) {
		store_u32(o.bytes, lengths[i]);
		assert_refused(parse(o.bytes, o.size, &organ, &err), &err, EBADMSG, 0);
	}
	assert_string_equal(err.text, "not an organ file: its name would be 4294967295 bytes long");
	free(o.bytes);
}

static void more_than_four_axes_are_refused(void **state)
{
	static const uint32_t dims[] = { 5, 8, 1000000, 1u << 31, UINT32_MAX };
	struct organ_bytes o = small_organ();
	struct organ organ;
	struct error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(dims); i++) {
		store_u32(o.bytes + o.dims_at, dims[i]);
		assert_refused(parse(o.bytes, o.size, &organ, &err), &err, EBADMSG, o.dims_at);
	}
	assert_string_equal(err.text, "not an organ file: its tensor would have 4294967295 axes");
	free(o.bytes);
}

static void a_shape_no_file_can_hold_is_refused(void **state)
{
	static const uint64_t shapes[][4] = {
		{ 1ull << 63, 1, 1, 1 },
		{ UINT64_MAX, 1, 1, 1 },
		{ 1ull << 32, 1ull << 32, 1, 1 },
		{ 4194305, 4194305, 211106198978564, 1 },
	};
	static const uint32_t types[] = { GGML_F32, 97 };
	struct organ organ;
	struct error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(shapes); i++)
		for (size_t j = 0; j < ARRAY_LENGTH(types); j++) {
			struct organ_bytes o = make_organ("x", 1, types[j], 4, shapes[i], 32);

			assert_refused(parse(o.bytes, o.size, &organ, &err), &err, EBADMSG,
				       o.dims_at + 4);
			free(o.bytes);
		}
}

static void a_row_of_half_a_block_is_refused_at_the_type(void **state)
{
	static const uint64_t ne[] = { 16, 2 };
	struct organ_bytes o = make_organ("x", 1, GGML_Q4_0, 2, ne, 18);
	struct organ organ;
	struct error err;

	(void)state;
	assert_refused(parse(o.bytes, o.size, &organ, &err), &err, EBADMSG, o.type_at);
	free(o.bytes);
}

static void an_unknown_type_takes_any_size(void **state)
{
	static const uint32_t types[] = { 4, 36, 97, UINT32_MAX };
	struct organ organ;
	struct error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(types); i++)
		for (size_t n = 0; n < 3; n++) {
			struct organ_bytes o = make_organ("x", 1, types[i], 2, small_shape, n * 5);

			assert_int_equal(parse(o.bytes, o.size, &organ, &err), 0);
			assert_int_equal(organ.data_size, n * 5);
			forget(&organ);
			free(o.bytes);
		}
}

static void a_type_that_marks_short_tensors_is_refused_at_the_type(void **state)
{
	struct organ_bytes o = make_organ("x", 1, TYPE_SHORT + GGML_F32, 2, small_shape, 5);
	struct organ organ;
	struct error err;

	(void)state;
	assert_refused(parse(o.bytes, o.size, &organ, &err), &err, EBADMSG, o.type_at);
	free(o.bytes);
}

static int broken_read_at(void *context, void *bytes, size_t n, uint64_t offset)
{
	(void)context, (void)bytes, (void)n, (void)offset;
	return -EIO;
}

static void a_file_that_cannot_be_read_is_no_bad_organ(void **state)
{
	const struct source source = { broken_read_at, NULL, 100 };
	struct organ organ;
	struct error err;

	(void)state;
	assert_refused(organ_parse(&source, &organ, &err), &err, EIO, 0);
	assert_null(organ.name);
}

/* The header would have the type's own id, so the file would not be of that type. */
static void a_short_tensor_neither_fits_nor_is_fitted(void **state)
{
	const struct gguf_tensor slot = { .name = "x",
					  .name_length = 1,
					  .dims = 2,
					  .ne = { 64, 64, 1, 1 },
					  .type = TYPE_SHORT + GGML_Q2_0,
					  .size = 1088 };
	struct gguf_tensor whole = slot;
	const struct organ organ = organ_of_tensor(&slot);
	uint8_t header[64];
	struct error err;

	(void)state;
	whole.type = GGML_Q2_0;
	whole.size = 1152;
	for (int any_shape = 0; any_shape < 2; any_shape++) {
		assert_refused(organ_fits(&organ, &slot, any_shape, &err), &err, EINVAL,
			       ERROR_NO_OFFSET);
		assert_refused(organ_fits(&organ, &whole, any_shape, &err), &err, EINVAL,
			       ERROR_NO_OFFSET);
		assert_string_equal(err.text, "the organ is short: its file has 1088 bytes for it, "
					      "and Q2_0 of shape 64x64 needs 1152");
		const struct organ fitting = organ_of_tensor(&whole);

		assert_refused(organ_fits(&fitting, &slot, any_shape, &err), &err, EINVAL,
			       ERROR_NO_OFFSET);
	}
	assert_true(organ.header_size <= sizeof(header));
	organ_write_header(&organ, header);
	assert_int_equal(load_u32(header + organ.header_size - 4), GGML_Q2_0);
}

static void an_organ_fits_the_slot_it_came_from(void **state)
{
	static const uint32_t types[] = { GGML_F32, 97 };
	struct error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(types); i++) {
		const struct gguf_tensor slot = { "x", 1, 2, { 4, 2, 1, 1 }, types[i], 0, 0, 32 };
		const struct organ organ = organ_of_tensor(&slot);

		assert_int_equal(organ_fits(&organ, &slot, false, &err), 0);
		assert_int_equal(organ_fits(&organ, &slot, true, &err), 0);
	}
}

static void another_type_fits_another_shape_only_if_told(void **state)
{
	const struct gguf_tensor slot = { "x", 1, 2, { 32, 2, 1, 1 }, GGML_F32, 0, 0, 256 };
	struct organ organ = organ_of_tensor(&slot);
	struct error err;

	(void)state;
	organ.type = GGML_Q4_0;
	organ.data_size = 36;
	assert_int_equal(organ_fits(&organ, &slot, false, &err), 0);
	organ.ne[1] = 3;
	organ.data_size = 54;
	assert_refused(organ_fits(&organ, &slot, false, &err), &err, EINVAL, ERROR_NO_OFFSET);
	assert_string_equal(err.text, "the organ's shape is 32x3, the slot's is 32x2");
	assert_int_equal(organ_fits(&organ, &slot, true, &err), 0);
}

static void trailing_axes_of_one_are_no_other_shape(void **state)
{
	const struct gguf_tensor slot = { "x", 1, 1, { 8, 1, 1, 1 }, GGML_F32, 0, 0, 32 };
	struct organ organ = organ_of_tensor(&slot);
	struct error err;

	(void)state;
	organ.dims = 4;
	assert_int_equal(organ_fits(&organ, &slot, false, &err), 0);
}

static void an_unknown_type_fits_only_its_own_kind_and_size(void **state)
{
	const struct gguf_tensor slot = { "x", 1, 2, { 4, 2, 1, 1 }, 97, 0, 0, 32 };
	struct organ organ = organ_of_tensor(&slot);
	struct error err;

	(void)state;
	for (int any_shape = 0; any_shape < 2; any_shape++) {
		organ.type = 98;
		assert_refused(organ_fits(&organ, &slot, any_shape, &err), &err, EINVAL,
			       ERROR_NO_OFFSET);
		organ.type = 97;
		organ.data_size = 33;
		assert_refused(organ_fits(&organ, &slot, any_shape, &err), &err, EINVAL,
			       ERROR_NO_OFFSET);
		organ.data_size = 32;
	}
}

/* organ.h: types may differ if both are known. */
static void a_known_type_does_not_fit_a_slot_of_an_unknown_one(void **state)
{
	const struct gguf_tensor slot = { "x", 1, 2, { 4, 2, 1, 1 }, 97, 0, 0, 32 };
	struct organ organ = organ_of_tensor(&slot);
	struct error err = { 0 };

	(void)state;
	organ.type = GGML_F32;
	assert_refused(organ_fits(&organ, &slot, false, &err), &err, EINVAL, ERROR_NO_OFFSET);
}

static void a_shape_is_written_fastest_axis_first(void **state)
{
	static const uint64_t ne[GGML_AXES] = { 4096, 11008, 3, 1 };
	static const uint64_t most[GGML_AXES] = { UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX };
	char text[SHAPE_TEXT_MAX];

	(void)state;
	assert_string_equal(shape_text(ne, 0, text), "1");
	assert_string_equal(shape_text(ne, 1, text), "4096");
	assert_string_equal(shape_text(ne, 2, text), "4096x11008");
	assert_string_equal(shape_text(ne, 4, text), "4096x11008x3x1");
	assert_int_equal(strlen(shape_text(most, 4, text)), 83);
}

static void each_failing_allocation_is_reported(void **state)
{
	struct memory_bytes memory;
	struct organ_bytes o;
	struct source source;
	struct organ organ;
	struct error err;
	int rc;

	(void)state;
	needs_failing_allocations();
	o = small_organ();
	memory = (struct memory_bytes){ o.bytes, o.size };
	source = source_of_memory(&memory);
	for (uint64_t k = 1;; k++) {
		allocation_fails(k);
		rc = organ_parse(&source, &organ, &err);
		if (!allocation_failed())
			break;
		assert_refused(rc, &err, ENOMEM, ERROR_NO_OFFSET);
		assert_null(organ.name);
	}
	assert_int_equal(rc, 0);
	forget(&organ);
	free(o.bytes);
}

UNIT_MAIN(NULL, NULL)
