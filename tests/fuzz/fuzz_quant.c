/* SPDX-License-Identifier: MIT */
/* fuzz_quant.c - any floats as a row of the type that the last byte chooses, without importance
 * and with the second half of the input as importance. All bytes of the blocks are written, the
 * same each time, and decode. Without importance a block is encoded independently of others, and
 * values within the type's range decode to finite ones. */
#include "fuzz_help.h"
#include "gguf/bytes.h"
#include "gguf/dequant.h"
#include "gguf/quant.h"

#include <math.h>
#include <string.h>

#define VALUES_MAX ((size_t)4096)

/* n floats in a block of exactly their size; caller frees. */
static float *load_values(const uint8_t *data, size_t n)
{
	float *values = malloc(n * sizeof(*values));

	require(values != NULL);
	memcpy(values, data, n * sizeof(*values));
	return values;
}

static uint8_t *encode(uint32_t type, const float *values, size_t n, const float *importance,
		       int before)
{
	const struct type_info *info = type_find(type);
	const size_t size = n / info->block_elements * info->block_bytes;
	uint8_t *bytes = malloc(size);

	require(bytes != NULL);
	memset(bytes, before, size);
	quant_row(type, values, n, importance, bytes);
	return bytes;
}

static void check_decoded(uint32_t type, const uint8_t *bytes, const float *values, size_t n,
			  bool plain)
{
	float *back = malloc(n * sizeof(*back));
	bool fits = plain;

	require(back != NULL);
	dequant_blocks(type, bytes, n / type_find(type)->block_elements, back);
	for (size_t i = 0; i < n; i++)
		fits = fits && fabsf(values[i]) <= quant_max(type);
	for (size_t i = 0; i < n && fits; i++)
		require(isfinite(back[i]));
	free(back);
}

static void check_row(uint32_t type, const float *values, size_t n, const float *importance)
{
	const struct type_info *info = type_find(type);
	const size_t blocks = n / info->block_elements;
	uint8_t *bytes = encode(type, values, n, importance, 0);
	uint8_t *again = encode(type, values, n, importance, 0xff);

	require(memcmp(bytes, again, blocks * info->block_bytes) == 0);
	free(again);
	check_decoded(type, bytes, values, n, !importance);
	for (size_t i = 0; i < blocks && !importance; i++) {
		again = encode(type, values + i * info->block_elements, info->block_elements, NULL,
			       0x55);
		require(memcmp(bytes + i * info->block_bytes, again, info->block_bytes) == 0);
		free(again);
	}
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint32_t type = size ? data[size - 1] % GGML_TYPES : GGML_TYPES;
	const size_t most = size / (2 * sizeof(float));
	float *values, *importance;
	size_t n;

	if (!quant_supported(type))
		return 0;
	n = most < VALUES_MAX ? most : VALUES_MAX;
	n -= n % type_find(type)->block_elements;
	if (n == 0)
		return 0;
	values = load_values(data, n);
	importance = load_values(data + n * sizeof(float), n);
	for (size_t i = 0; i < n; i++)
		importance[i] = fabsf(importance[i]);
	check_row(type, values, n, NULL);
	check_row(type, values, n, importance);
	free(values);
	free(importance);
	return 0;
}
