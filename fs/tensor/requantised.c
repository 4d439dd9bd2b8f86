/* SPDX-License-Identifier: MIT */
/* requantised.c - see requantised.h. Without an importance matrix each block is encoded separately,
 * so the unit of computation is the longer block of the two types; each row is a multiple of both.
 * With a matrix, encoders need the whole row, which then is the unit. */
#include "fs/tensor/requantised.h"
#include "fs/storage/backing.h"
#include "fs/storage/computed_rows.h"
#include "fs/storage/view.h"
#include "fs/tensor/codec.h"
#include "fs/tensor/importance_matrix.h"
#include "fs/tensor/organ_views.h"
#include "gguf/dequant.h"
#include "gguf/quant.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* longer rows get no weights, because a row is computed as a whole in memory */
#define ROW_MOST ((uint64_t)1 << 20)

/* values decoded and encoded at a time, or a unit if that is longer */
#define VALUES_AT_ONCE ((size_t)1 << 13)

struct requantised {
	struct organ_location from;	      /* with its own name and a reference of the file */
	uint32_t to;			      /* type of the result */
	size_t unit;			      /* values of a unit */
	uint64_t blocks;		      /* blocks of a unit in the file */
	size_t made_bytes;		      /* bytes of an encoded unit */
	struct importance_matrix *importance; /* NULL: no weights for the organ */
};

bool requantised_exists(const struct organ *organ, uint32_t type,
			const struct importance_matrix *importance)
{
	uint64_t size;

	if (organ->type == type)
		return type_find(type) != NULL;
	if (quant_needs_importance(type) && organ->ne[0] > ROW_MOST)
		return false;
	return decode_gives_weights(organ->type) && quant_supported(type) && organ->data_size > 0 &&
	       type_size(type, organ->ne, &size) == TYPE_SIZE_OK &&
	       importance_matrix_allows(importance, organ, type);
}

struct organ requantised_organ(const struct organ *organ, uint32_t type)
{
	struct organ made = *organ;

	if (type != organ->type && type_size(type, organ->ne, &made.data_size) == TYPE_SIZE_OK)
		made.type = type;
	return made;
}

/* Buffers of one call of make(). */
struct row_work {
	size_t most; /* units at a time */
	float *values;
	void *scratch;
	struct importance_weights weights;
};

static bool work_init(struct row_work *work, const struct requantised *made, size_t n)
{
	const size_t most = made->unit < VALUES_AT_ONCE ? VALUES_AT_ONCE / made->unit : 1;

	*work = (struct row_work){ .most = most < n ? most : n };
	work->values = calloc(work->most * made->unit, sizeof(*work->values));
	work->scratch = malloc(DECODE_SCRATCH);
	return work->values && work->scratch;
}

static void work_release(struct row_work *work)
{
	free(work->values);
	free(work->scratch);
	free(work->weights.values);
}

/* Encode n units, from number `first` on, whose values are in work. */
static int encode(const struct requantised *made, struct row_work *work, uint64_t first, size_t n,
		  uint8_t *out)
{
	if (made->importance)
		return importance_matrix_encode(made->importance, &made->from.organ, made->to,
						first, n, work->values, out, &work->weights);
	quant_row(made->to, work->values, n * made->unit, NULL, out);
	return 0;
}

static int make(void *context, unsigned flags, uint64_t first, size_t n, void *bytes,
		const atomic_bool *stop)
{
	const struct requantised *made = context;
	uint8_t *out = bytes;
	struct row_work work;
	int rc = work_init(&work, made, n) ? 0 : -ENOMEM;

	while (rc == 0 && n) {
		const size_t part = n < work.most ? n : work.most;

		rc = decode_read(made->from.file, made->from.offset, made->from.organ.type, flags,
				 first * made->blocks, part * made->blocks, work.scratch,
				 work.values, stop);
		if (rc == 0 && stop && atomic_load(stop))
			rc = -EINTR;
		if (rc == 0)
			rc = encode(made, &work, first, part, out);
		out += part * made->made_bytes;
		first += part;
		n -= part;
	}
	work_release(&work);
	return rc;
}

static void release(void *context)
{
	struct requantised *made = context;

	importance_matrix_unref(made->importance);
	backing_unref(made->from.file);
	free((char *)made->from.organ.name);
	free(made);
}

/* NULL: out of memory. */
static struct requantised *rows_new(const struct organ_location *located, const struct organ *to,
				    struct importance_matrix *importance)
{
	struct requantised *rows = calloc(1, sizeof(*rows));
	const struct organ *known = located->in_slot ? located->in_slot : &located->organ;
	char *name = malloc(known->name_length + 1u);

	if (!rows || !name) {
		free(rows);
		free(name);
		return NULL;
	}
	rows->from = *located;
	rows->from.in_slot = NULL;
	rows->from.organ.name = memcpy(name, known->name, known->name_length);
	rows->from.organ.name_length = known->name_length;
	backing_ref(located->file);
	rows->to = to->type;
	if (located->organ.ne[0] <= ROW_MOST && importance_matrix_has(importance, known))
		rows->importance = importance_matrix_ref(importance);
	return rows;
}

/* NULL: out of memory. */
static struct backing *rows_of(const struct organ_location *located, const struct organ *made,
			       struct importance_matrix *importance)
{
	const struct type_info *from = type_find(located->organ.type), *to = type_find(made->type);
	struct requantised *rows = rows_new(located, made, importance);
	struct computed_rows_source source = { .make = make, .release = release, .context = rows };

	if (!rows)
		return NULL;
	rows->unit = from->block_elements > to->block_elements ? from->block_elements
							       : to->block_elements;
	if (rows->importance)
		rows->unit = located->organ.ne[0];
	rows->blocks = rows->unit / from->block_elements;
	rows->made_bytes = rows->unit / to->block_elements * to->block_bytes;
	shape_elements(located->organ.ne, &source.n);
	source.n /= rows->unit;
	source.length = rows->made_bytes;
	return computed_rows_new(&source, located->file);
}

struct organ_location requantised_location(const struct organ_location *located, uint32_t type,
					   struct importance_matrix *importance)
{
	struct organ_location made = { .organ = requantised_organ(&located->organ, type) };

	made.file = rows_of(located, &made.organ, importance);
	return made;
}

struct view *requantised_view(const struct organ_location *located, uint32_t type,
			      struct importance_matrix *importance)
{
	struct organ_location made;
	struct view *view;

	if (type == located->organ.type)
		return organ_location_view(located);
	made = requantised_location(located, type, importance);
	if (!made.file)
		return NULL;
	view = organ_location_view(&made);
	backing_unref(made.file);
	return view;
}
