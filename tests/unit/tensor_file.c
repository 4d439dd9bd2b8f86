/* SPDX-License-Identifier: MIT */
/* tensor_file.c - see tensor_file.h. */
#include "tests/unit/tensor_file.h"
#include "fs/storage/backing.h"
#include "gguf/reader.h"

/* Fill with bytes that are finite values in any type: no exponent is all ones. */
static void fill_tensor(uint8_t *bytes, size_t n)
{
	uint64_t seed = 7;

	for (size_t i = 0; i < n; i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		bytes[i] = (uint8_t)(seed >> 57 | (seed >> 40 & 0x80));
		if (i % 2)
			bytes[i] &= 0xbb;
	}
}

static void decode_tensor(struct tensor_file *t)
{
	const uint32_t type = t->located.organ.type;

	if (!dequant_supported(type))
		return;
	t->values = malloc(t->elements * sizeof(float) + 1);
	must(t->values);
	dequant_blocks(type, t->bytes, t->elements / type_find(type)->block_elements, t->values);
}

struct tensor_file new_tensor(void **state, const char *name, uint32_t type, uint32_t dims,
			      const uint64_t *ne, const void *bytes)
{
	struct gguf_tensor tensor = { .name = name,
				      .name_length = (uint32_t)strlen(name),
				      .dims = dims,
				      .ne = { 1, 1, 1, 1 },
				      .type = type };
	struct tensor_file t = { .values = NULL };
	uint8_t *file;

	memcpy(tensor.ne, ne, dims * sizeof(*ne));
	must(type_size(type, tensor.ne, &tensor.size) == TYPE_SIZE_OK);
	must(shape_elements(tensor.ne, &t.elements));
	t.bytes = malloc(tensor.size + 1);
	file = malloc(TENSOR_AT + tensor.size + TENSOR_AFTER);
	must(t.bytes && file);
	if (bytes)
		memcpy(t.bytes, bytes, tensor.size);
	else
		fill_tensor(t.bytes, tensor.size);
	memset(file, 0x3c, TENSOR_AT + tensor.size + TENSOR_AFTER);
	memcpy(file + TENSOR_AT, t.bytes, tensor.size);
	write_file(in_temp(state, "tensor").text, file, TENSOR_AT + tensor.size + TENSOR_AFTER);
	free(file);
	t.located.organ = organ_of_tensor(&tensor);
	t.located.file = backing_open(in_temp(state, "tensor").text, NULL);
	must(t.located.file != NULL);
	t.located.offset = TENSOR_AT;
	decode_tensor(&t);
	return t;
}

void free_tensor(struct tensor_file *t)
{
	backing_unref(t->located.file);
	free(t->bytes);
	free(t->values);
}

void assert_any_range(struct view *view, const char *whole)
{
	const uint64_t size = view_size(view);
	char *bytes = malloc(size + 1);
	uint64_t seed = 3;

	must(bytes);
	for (int i = 0; i < 200; i++) {
		uint64_t from, n;

		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		from = (seed >> 33) % (size + 1);
		n = (seed >> 13) % (i % 2 ? size + 1 - from : 40);
		n = n > size - from ? size - from : n;
		assert_int_equal(view_read(view, bytes, n, from), n);
		assert_memory_equal(bytes, whole + from, n);
	}
	free(bytes);
}
