/* SPDX-License-Identifier: MIT */
/* requantised.c - see requantised.h. Without an importance matrix each block is encoded by itself,
 * so that the unit that is computed is the longer one of the blocks of both types. Each row is a
 * multiple of both. */
#include "fs/tensor/requantised.h"
#include "fs/storage/backing.h"
#include "fs/storage/computed_rows.h"
#include "fs/storage/view.h"
#include "fs/tensor/codec.h"
#include "fs/tensor/organ_views.h"
#include "gguf/dequant.h"
#include "gguf/quant.h"

#include <errno.h>
#include <stdlib.h>

/* So many values are decoded and encoded at once. */
#define VALUES_AT_ONCE ((size_t)1 << 13)

struct requantised {
	struct backing *file;
	uint64_t offset;
	uint32_t from, to; /* types */
	size_t unit;	   /* values */
	uint64_t blocks;   /* of a unit in the file */
	size_t made_bytes; /* of a unit as it is made */
};

bool requantised_exists(const struct organ *organ, uint32_t type)
{
	uint64_t size;

	if (organ->type == type)
		return type_find(type) != NULL;
	return decode_gives_weights(organ->type) && quant_supported(type) && organ->data_size > 0 &&
	       type_size(type, organ->ne, &size) == TYPE_SIZE_OK;
}

struct organ requantised_organ(const struct organ *organ, uint32_t type)
{
	struct organ made = *organ;

	if (type != organ->type && type_size(type, organ->ne, &made.data_size) == TYPE_SIZE_OK)
		made.type = type;
	return made;
}

static int make(void *context, unsigned flags, uint64_t first, size_t n, void *bytes,
		const atomic_bool *stop)
{
	const struct requantised *made = context;
	const size_t most = VALUES_AT_ONCE / made->unit;
	float *values = malloc((most < n ? most : n) * made->unit * sizeof(*values));
	void *scratch = malloc(DECODE_SCRATCH);
	uint8_t *out = bytes;
	int rc = values && scratch ? 0 : -ENOMEM;

	while (rc == 0 && n) {
		const size_t part = n < most ? n : most;

		rc = decode_read(made->file, made->offset, made->from, flags, first * made->blocks,
				 part * made->blocks, scratch, values, stop);
		if (rc == 0 && stop && atomic_load(stop))
			rc = -EINTR;
		if (rc == 0)
			quant_row(made->to, values, part * made->unit, NULL, out);
		out += part * made->made_bytes;
		first += part;
		n -= part;
	}
	free(values);
	free(scratch);
	return rc;
}

static void release(void *context)
{
	struct requantised *made = context;

	backing_unref(made->file);
	free(made);
}

static struct backing *rows_of(const struct organ_location *located, const struct organ *made)
{
	const struct organ *organ = &located->organ;
	const struct type_info *from = type_find(organ->type), *to = type_find(made->type);
	struct requantised *rows = calloc(1, sizeof(*rows));
	struct computed_rows_source source = { .make = make, .release = release, .context = rows };

	if (!rows)
		return NULL;
	rows->unit = from->block_elements > to->block_elements ? from->block_elements
							       : to->block_elements;
	shape_elements(organ->ne, &source.n);
	source.n /= rows->unit;
	rows->file = backing_ref(located->file);
	rows->offset = located->offset;
	rows->from = organ->type;
	rows->to = made->type;
	rows->blocks = rows->unit / from->block_elements;
	rows->made_bytes = rows->unit / to->block_elements * to->block_bytes;
	source.length = rows->made_bytes;
	return computed_rows_new(&source, located->file);
}

struct view *requantised_view(const struct organ_location *located, uint32_t type)
{
	struct organ_location made = { .organ = requantised_organ(&located->organ, type) };
	struct view *view;

	if (type == located->organ.type)
		return organ_location_view(located);
	made.file = rows_of(located, &made.organ);
	if (!made.file)
		return NULL;
	view = organ_location_view(&made);
	backing_unref(made.file);
	return view;
}
