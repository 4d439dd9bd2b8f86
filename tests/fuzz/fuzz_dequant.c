/* SPDX-License-Identifier: MIT */
/* fuzz_dequant.c - any bytes as blocks of the type that the last bytes choose: the blocks decode,
 * and decoding a range alone gives the same values. */
#include "fuzz_help.h"
#include "gguf/bytes.h"
#include "gguf/dequant.h"

/* Number of last bytes that choose: first value u16, count u16, type u8. */
#define CHOICES ((size_t)5)

/* Decode copies of the blocks, so that ASan sees an access outside of them. */
static void check_range(uint32_t type, const uint8_t *blocks, const float *whole, uint64_t first,
			uint64_t count)
{
	const struct type_info *info = type_find(type);
	const uint64_t block = first / info->block_elements, skip = first % info->block_elements;
	const uint64_t n = (skip + count + info->block_elements - 1) / info->block_elements;
	uint8_t *bytes = malloc(n * info->block_bytes);
	float *out = malloc(count * sizeof(*out));

	require(bytes && out);
	memcpy(bytes, blocks + block * info->block_bytes, n * info->block_bytes);
	dequant_range(type, bytes, skip, count, out);
	require(memcmp(out, whole + first, count * sizeof(*out)) == 0);
	free(bytes);
	free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *choices;
	const struct type_info *info;
	uint64_t n, values, first;
	uint32_t type;
	float *whole;

	if (size < CHOICES)
		return 0;
	choices = data + size - CHOICES;
	type = choices[4] % GGML_TYPES;
	if (!dequant_supported(type))
		return 0;
	info = type_find(type);
	n = (size - CHOICES) / info->block_bytes;
	values = n * info->block_elements;
	if (n == 0)
		return 0;
	whole = malloc(values * sizeof(*whole));
	require(whole != NULL);
	dequant_blocks(type, data, n, whole);
	first = load_u16(choices) % values;
	check_range(type, data, whole, first, 1 + load_u16(choices + 2) % (values - first));
	free(whole);
	return 0;
}
