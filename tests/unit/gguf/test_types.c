/* SPDX-License-Identifier: MIT */
/* test_types.c - gguf/types.c: the type table against libggml's (types.tsv), and sizes near
 * overflow. */
#include "gguf/types.h"
#include "tests/unit/unit.h"

#include <ctype.h>
#include <strings.h>

static void check_row(uint32_t id, const char *name, uint32_t elements, uint32_t bytes)
{
	const struct type_info *type = type_find(id);
	char scratch[TYPE_NAME_MAX];

	if (elements == 0) {
		assert_null(type);
		return;
	}
	assert_non_null(type);
	assert_int_equal(strcasecmp(type->name, name), 0);
	for (const char *c = type->name; *c; c++)
		assert_false(islower((unsigned char)*c));
	assert_int_equal(type->block_elements, elements);
	assert_int_equal(type->block_bytes, bytes);
	assert_ptr_equal(type_name(id, scratch), type->name);
}

static void every_type_agrees_with_libggml(void **state)
{
	FILE *table = fopen("tests/unit/types.tsv", "r");
	char line[200], name[100];
	uint32_t id, elements, bytes, rows = 0;

	(void)state;
	assert_non_null(table);
	assert_non_null(fgets(line, sizeof(line), table));
	while (fgets(line, sizeof(line), table)) {
		assert_int_equal(sscanf(line, "%u\t%99[^\t]\t%u\t%u", &id, name, &elements, &bytes),
				 4);
		assert_int_equal(id, rows);
		check_row(id, name, elements, bytes);
		rows++;
	}
	fclose(table);
	assert_int_equal(rows, GGML_TYPES);
}

static void types_of_forks_have_their_sizes(void **state)
{
	FILE *table = fopen("tests/unit/types-forks.tsv", "r");
	char line[200], name[100];
	uint32_t id, elements, bytes, row, known = 0, listed = 0;

	(void)state;
	assert_non_null(table);
	assert_non_null(fgets(line, sizeof(line), table));
	while (fgets(line, sizeof(line), table)) {
		uint64_t size;

		assert_int_equal(sscanf(line, "%u\t%99[^\t]\t%u\t%u\t%u", &id, name, &elements,
					&bytes, &row),
				 5);
		check_row(id, name, elements, bytes);
		assert_non_null(type_find(id)->fork);
		const uint64_t ne[GGML_AXES] = { 3ull * elements, 5, 2, 7 };
		assert_int_equal(type_size(id, ne, &size), TYPE_SIZE_OK);
		assert_int_equal(size, 70 * (3ull * bytes + row));
		listed++;
	}
	fclose(table);
	for (id = GGML_TYPES; id < TYPE_IDS; id++)
		known += type_find(id) != NULL;
	assert_int_equal(known, listed);
}

static void headers_of_rows_count_towards_the_limit(void **state)
{
	const uint64_t fits[GGML_AXES] = { 256, INT64_MAX / 256, 1, 1 };
	const uint64_t empty[GGML_AXES] = { 0, 5, 2, 7 };
	uint64_t bytes;

	(void)state;
	/* 56 bytes of a block and 4 of its row (IQ1_KT), for one row less than 2^55. */
	assert_int_equal(type_size(158, fits, &bytes), TYPE_SIZE_OK);
	assert_int_equal(bytes, INT64_MAX / 256 * 60);
	assert_int_equal(type_size(158, empty, &bytes), TYPE_SIZE_OK);
	assert_int_equal(bytes, 0);
}

static void ids_past_the_table_are_unknown(void **state)
{
	static const uint32_t ids[] = { 43, 97, 159, 255, 400, 0x7fffffff, 0x80000000, UINT32_MAX };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(ids); i++)
		assert_null(type_find(ids[i]));
}

static void an_unknown_type_is_named_by_its_id(void **state)
{
	char scratch[TYPE_NAME_MAX];

	(void)state;
	assert_string_equal(type_name(4, scratch), "type-4");
	assert_string_equal(type_name(UINT32_MAX, scratch), "type-4294967295");
}

static void every_type_sizes_whole_blocks(void **state)
{
	(void)state;
	for (uint32_t id = 0; id < GGML_TYPES; id++) {
		const struct type_info *type = type_find(id);
		uint64_t bytes = 0;

		if (!type)
			continue;
		const uint64_t ne[GGML_AXES] = { 3ull * type->block_elements, 5, 2, 7 };
		assert_int_equal(type_size(id, ne, &bytes), TYPE_SIZE_OK);
		assert_int_equal(bytes, 210ull * type->block_bytes);
	}
}

static void a_row_of_half_a_block_is_refused(void **state)
{
	(void)state;
	for (uint32_t id = 0; id < GGML_TYPES; id++) {
		const struct type_info *type = type_find(id);
		uint64_t bytes;

		if (!type || type->block_elements == 1)
			continue;
		/* Two half rows are a whole block, but a block never crosses a row. */
		const uint64_t ne[GGML_AXES] = { type->block_elements / 2, 2, 1, 1 };
		assert_int_equal(type_size(id, ne, &bytes), TYPE_SIZE_ROW);
	}
}

static void retired_and_foreign_types_have_no_size(void **state)
{
	static const uint32_t ids[] = { 4, 5, 31, 32, 33, 36, 37, 38, 43, UINT32_MAX };
	const uint64_t ne[GGML_AXES] = { 256, 1, 1, 1 };
	uint64_t bytes;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(ids); i++)
		assert_int_equal(type_size(ids[i], ne, &bytes), TYPE_SIZE_UNKNOWN);
}

static void elements_are_counted_up_to_the_limit(void **state)
{
	static const struct {
		uint64_t ne[GGML_AXES];
		bool fits;
		uint64_t elements;
	} cases[] = {
		{ { 1, 1, 1, 1 }, true, 1 },
		{ { 2, 3, 5, 7 }, true, 210 },
		{ { INT64_MAX, 1, 1, 1 }, true, INT64_MAX },
		{ { 1, 1, 1, INT64_MAX }, true, INT64_MAX },
		{ { 1ull << 63, 1, 1, 1 }, false, 0 },
		{ { UINT64_MAX, 1, 1, 1 }, false, 0 },
		{ { 1ull << 32, 1ull << 31, 1, 1 }, false, 0 },
		{ { 1ull << 32, 1ull << 32, 1, 1 }, false, 0 },
		{ { 1ull << 31, 1ull << 31, 1ull << 2, 1 }, false, 0 },
		/* The product wraps to 4. */
		{ { 4194305, 4194305, 211106198978564, 1 }, false, 0 },
		{ { 0, 1, 1, 1 }, true, 0 },
		{ { 4, 0, 4, 4 }, true, 0 },
		{ { 4, 4, 4, 0 }, true, 0 },
		{ { 0, UINT64_MAX, 1, 1 }, false, 0 },
		{ { UINT64_MAX, 0, 1, 1 }, false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		uint64_t elements = 0;

		assert_int_equal(shape_elements(cases[i].ne, &elements), cases[i].fits);
		if (cases[i].fits)
			assert_int_equal(elements, cases[i].elements);
	}
}

/* The result for a shape without elements must not depend on which axis is empty. */
static void an_empty_axis_counts_the_same_wherever_it_stands(void **state)
{
	const uint64_t huge = 1ull << 62;
	const uint64_t first[GGML_AXES] = { 0, huge, huge, 1 };
	const uint64_t last[GGML_AXES] = { huge, huge, 0, 1 };
	uint64_t elements;

	(void)state;
	assert_int_equal(shape_elements(first, &elements), shape_elements(last, &elements));
}

static void bytes_beyond_the_limit_overflow(void **state)
{
	static const struct {
		uint32_t type;
		uint64_t ne[GGML_AXES];
		enum type_size_result result;
	} cases[] = {
		{ GGML_I8, { INT64_MAX, 1, 1, 1 }, TYPE_SIZE_OK },
		{ GGML_I8, { 1ull << 63, 1, 1, 1 }, TYPE_SIZE_OVERFLOW },
		{ GGML_F16, { 1ull << 62, 1, 1, 1 }, TYPE_SIZE_OVERFLOW },
		{ GGML_F16, { (1ull << 62) - 1, 1, 1, 1 }, TYPE_SIZE_OK },
		{ GGML_F64, { 1ull << 30, 1ull << 30, 1, 1 }, TYPE_SIZE_OVERFLOW },
		{ GGML_Q8_K, { (1ull << 63) - 256, 1, 1, 1 }, TYPE_SIZE_OVERFLOW },
		{ GGML_Q2_K, { (1ull << 63) - 256, 1, 1, 1 }, TYPE_SIZE_OK },
		{ GGML_Q4_0, { 0, 1, 1, 1 }, TYPE_SIZE_OK },
		{ GGML_Q4_0, { 32, 0, 1, 1 }, TYPE_SIZE_OK },
		{ GGML_Q4_0, { 31, 0, 1, 1 }, TYPE_SIZE_ROW },
	};
	uint64_t bytes;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
		assert_int_equal(type_size(cases[i].type, cases[i].ne, &bytes), cases[i].result);
}

UNIT_MAIN(NULL, NULL)
