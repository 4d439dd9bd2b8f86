/* SPDX-License-Identifier: MIT */
/* fuzz_dequant.c - any bytes as blocks of any type: they are decoded, no byte beyond them is read,
 * and a part of them is decoded to that part of the whole. */
#include "gguf/dequant.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void *checked(void *block)
{
	if (!block)
		abort();
	return block;
}

/* The values from first to first + count - 1, of blocks copied to a place of their size. */
static float *decode(uint32_t type, const uint8_t *blocks, uint64_t first, uint64_t count)
{
	const struct type_info *info = type_find(type);
	const uint64_t block = first / info->block_elements, skip = first % info->block_elements;
	const uint64_t n = (skip + count + info->block_elements - 1) / info->block_elements;
	uint8_t *exact = checked(malloc(n * info->block_bytes + !n));
	float *values = checked(malloc(count * sizeof(*values) + !count));

	memcpy(exact, blocks + block * info->block_bytes, n * info->block_bytes);
	dequant_range(type, exact, skip, count, values);
	free(exact);
	return values;
}

/* |type u8|first u16|count u16|blocks| */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint32_t type = size > 5 ? data[0] % GGML_TYPES : GGML_Q8_1;
	const struct type_info *info = type_find(type);
	uint64_t elements, first, count;
	float *whole, *part;

	if (!dequant_supported(type))
		return 0;
	elements = (size - 5) / info->block_bytes * info->block_elements;
	first = ((uint64_t)data[1] | (uint64_t)data[2] << 8) % (elements + 1);
	count = ((uint64_t)data[3] | (uint64_t)data[4] << 8) % (elements - first + 1);
	whole = decode(type, data + 5, 0, elements);
	part = decode(type, data + 5, first, count);
	if (memcmp(whole + first, part, count * sizeof(*part)) != 0)
		abort();
	free(whole);
	free(part);
	return 0;
}
