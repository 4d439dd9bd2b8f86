/* SPDX-License-Identifier: MIT */
/* codec.c - see codec.h. */
#include "fs/tensor/codec.h"
#include "fs/storage/backing.h"
#include "fs/storage/computed_rows.h"
#include "gguf/dequant.h"
#include "gguf/quant.h"
#include "gguf/types.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct decoded_values {
	struct backing *file;
	uint64_t offset;
	uint32_t type;
};

bool decode_gives_weights(uint32_t type)
{
	return dequant_supported(type) && type != GGML_I8 && type != GGML_I16 && type != GGML_I32 &&
	       type != GGML_I64 && type != GGML_F64;
}

int decode_read(struct backing *file, uint64_t offset, uint32_t type, unsigned flags,
		uint64_t first, uint64_t n, void *scratch, float *values, const atomic_bool *stop)
{
	const struct type_info *info = type_find(type);
	const uint64_t most = DECODE_SCRATCH / info->block_bytes;

	while (n) {
		const uint64_t part = n < most ? n : most;
		const size_t bytes = (size_t)part * info->block_bytes;
		const uint64_t at = offset + first * info->block_bytes;
		const int rc = backing_read_cancellable(file, flags, scratch, bytes, at, stop);

		if (rc < 0)
			return rc;
		dequant_blocks(type, scratch, part, values);
		values += part * info->block_elements;
		first += part;
		n -= part;
	}
	return 0;
}

/* Values for an unaligned address are decoded to a buffer, so many blocks at a time. */
#define ASIDE 64u

static int decode_unaligned(const struct decoded_values *floats, unsigned flags, uint64_t first,
			    size_t n, void *scratch, uint8_t *bytes, const atomic_bool *stop)
{
	const size_t elements = type_find(floats->type)->block_elements;
	float *values = malloc(ASIDE * elements * sizeof(*values));
	int rc = values ? 0 : -ENOMEM;

	while (rc == 0 && n) {
		const size_t part = n < ASIDE ? n : ASIDE;
		const size_t length = part * elements * sizeof(*values);

		rc = decode_read(floats->file, floats->offset, floats->type, flags, first, part,
				 scratch, values, stop);
		if (rc == 0)
			memcpy(bytes, values, length);
		bytes += length;
		first += part;
		n -= part;
	}
	free(values);
	return rc;
}

static int make(void *context, unsigned flags, uint64_t first, size_t n, void *bytes,
		const atomic_bool *stop)
{
	const struct decoded_values *floats = context;
	void *scratch = malloc(DECODE_SCRATCH);
	int rc;

	if (!scratch)
		return -ENOMEM;
	if ((uintptr_t)bytes % _Alignof(float))
		rc = decode_unaligned(floats, flags, first, n, scratch, bytes, stop);
	else
		rc = decode_read(floats->file, floats->offset, floats->type, flags, first, n,
				 scratch, bytes, stop);
	free(scratch);
	return rc;
}

static void release(void *context)
{
	struct decoded_values *floats = context;

	backing_unref(floats->file);
	free(floats);
}

struct backing *decode_new(struct backing *file, uint64_t offset, uint32_t type, uint64_t elements)
{
	const struct type_info *info = type_find(type);
	struct decoded_values *floats = malloc(sizeof(*floats));
	const struct computed_rows_source source = {
		.n = elements / info->block_elements,
		.length = info->block_elements * sizeof(float),
		.make = make,
		.release = release,
		.context = floats,
	};

	if (!floats)
		return NULL;
	*floats = (struct decoded_values){ backing_ref(file), offset, type };
	return computed_rows_new(&source, file);
}

const char *encode_choice_name(enum encode_choice choice)
{
	static const char *const names[ENCODE_CHOICES] = { "keep", "q8_0", "f16" };

	return names[choice];
}

bool encode_fits(uint32_t type, uint64_t row)
{
	return quant_supported(type) && row <= ENCODE_ROW_MAX &&
	       row % type_find(type)->block_elements == 0;
}

bool encode_supported(uint32_t type, uint64_t row)
{
	return encode_fits(type, row) && !quant_needs_importance(type);
}

uint32_t encode_type(uint32_t type, uint64_t row, enum encode_choice choice)
{
	if (type == GGML_F32)
		return type;
	if (choice == ENCODE_F16)
		return GGML_F16;
	if (type == GGML_F16 || type == GGML_BF16 ||
	    (choice == ENCODE_KEEP && encode_supported(type, row)))
		return type;
	return encode_supported(GGML_Q8_0, row) ? GGML_Q8_0 : GGML_F16;
}
