/* SPDX-License-Identifier: MIT */
/* test_npy_parse.c - fs/tensor/npy_parse.c: type, shape and offset in a NumPy file's header. */
#include "fs/tensor/npy_parse.h"
#include "gguf/cursor.h"
#include "tests/unit/unit.h"

#include <errno.h>

/* Parse a file of version 1 with that header and number of value bytes, from a block of exactly
 * that size. */
static int parse(const char *header, size_t values, struct npy_array *array, struct error *err)
{
	const size_t n = strlen(header), size = 10 + n + values;
	uint8_t *bytes = calloc(1, size);
	struct memory_bytes memory = { bytes, size };
	const struct source source = source_of_memory(&memory);
	int rc;

	*err = (struct error){ 0 };
	memcpy(bytes, "\x93NUMPY\x01\x00", 8);
	bytes[8] = (uint8_t)n;
	bytes[9] = (uint8_t)(n >> 8);
	memcpy(bytes + 10, header, n);
	rc = npy_parse(&source, array, err);
	free(bytes);
	return rc;
}

static void files_of_numpy_are_read(void **state)
{
	static const struct {
		const char *header;
		size_t values;
		uint32_t type, dims;
		bool fortran;
		uint64_t ne[GGML_AXES];
	} files[] = {
		{ "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }   \n",
		  48,
		  GGML_F32,
		  2,
		  false,
		  { 4, 3, 1, 1 } },
		{ "{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3, 4, 5), }\n",
		  960,
		  GGML_F64,
		  4,
		  true,
		  { 5, 4, 3, 2 } },
		{ "{\"shape\":(7,),\"descr\":\"<f2\",\"fortran_order\":False}",
		  14,
		  GGML_F16,
		  1,
		  false,
		  { 7, 1, 1, 1 } },
		{ "{'descr': '<u2', 'fortran_order': False, 'shape': (), }\n",
		  2,
		  GGML_BF16,
		  0,
		  false,
		  { 1, 1, 1, 1 } },
		{ "{'descr': '|i1', 'fortran_order': False, 'shape': (0,), }\n",
		  0,
		  GGML_I8,
		  1,
		  false,
		  { 0, 1, 1, 1 } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(files); i++) {
		struct npy_array array;
		struct error err;

		assert_int_equal(parse(files[i].header, files[i].values, &array, &err), 0);
		assert_int_equal(array.type, files[i].type);
		assert_int_equal(array.dims, files[i].dims);
		assert_int_equal(array.fortran, files[i].fortran);
		assert_memory_equal(array.ne, files[i].ne, sizeof(array.ne));
		assert_int_equal(array.offset, 10 + strlen(files[i].header));
		assert_true(array.has_values);
	}
}

static void file_that_is_no_npy_is_refused(void **state)
{
	static const char *const headers[] = {
		"",
		"{}",
		"{'descr': '<f4', 'fortran_order': False}",
		"{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}",
		"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}",
		"{'descr': '|O', 'fortran_order': False, 'shape': (2,)}",
		"{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2,)}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': 2}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (2 2)}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (2,}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (2",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (2,) 'x': 1}",
		"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'more': 1}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,2)}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
		"{'descr: '<f4', 'fortran_order': False, 'shape': (2,)}",
		"{'descr': '<f\\x34', 'fortran_order': False, 'shape': (2,)}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(headers); i++) {
		struct npy_array array;
		struct error err;

		if (parse(headers[i], 8, &array, &err) != -EINVAL || err.code != EINVAL)
			fail_msg("%s", headers[i]);
	}
}

static void the_start_of_a_file_is_checked(void **state)
{
	static const char header[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (0,)}";
	uint8_t bytes[10 + sizeof(header) - 1] = "\x93NUMPY\x01";
	struct memory_bytes memory = { bytes, sizeof(bytes) };
	struct source source = source_of_memory(&memory);
	struct npy_array array;
	struct error err = { 0 };

	(void)state;
	memcpy(bytes + 10, header, sizeof(header) - 1);
	bytes[8] = sizeof(header) - 1;
	assert_int_equal(npy_parse(&source, &array, &err), 0);
	bytes[8]++; /* one byte more than the header has */
	assert_refused(npy_parse(&source, &array, &err), &err, EINVAL, 8);
	bytes[8]--;
	bytes[6] = 4;
	assert_refused(npy_parse(&source, &array, &err), &err, EINVAL, 6);
	bytes[6] = 2; /* version 2 has a length of four bytes */
	assert_int_equal(npy_parse(&source, &array, &err), -EINVAL);
	bytes[6] = 1;
	bytes[20] = '\0';
	assert_refused(npy_parse(&source, &array, &err), &err, EINVAL, 10);
	bytes[0] = 'x';
	assert_refused(npy_parse(&source, &array, &err), &err, EINVAL, 0);
	source.size = 11;
	assert_int_equal(npy_parse(&source, &array, &err), -EINVAL);
}

static void header_without_values_is_accepted(void **state)
{
	struct npy_array array;
	struct error err;

	(void)state;
	assert_int_equal(parse("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", 0, &array,
			       &err),
			 0);
	assert_false(array.has_values);
}

static void shapes_are_written_as_numpy_does(void **state)
{
	static const uint64_t ne[GGML_AXES] = { 4096, 11008, 1, 1 };
	char text[NPY_SHAPE_TEXT];

	(void)state;
	assert_string_equal(npy_shape_text(ne, 2, text), "(11008, 4096)");
	assert_string_equal(npy_shape_text(ne, 1, text), "(4096,)");
	assert_string_equal(npy_shape_text(ne, 0, text), "()");
	assert_string_equal(npy_type_word(GGML_BF16), "uint16");
	assert_null(npy_type_word(GGML_Q8_0));
}

UNIT_MAIN(NULL, NULL)
