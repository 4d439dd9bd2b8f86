/* SPDX-License-Identifier: MIT */
/* tensor_factors.c - see tensor_factors.h. */
#include "fs/tensor/tensor_factors.h"
#include "fs/storage/backing.h"
#include "fs/tensor/codec.h"
#include "fs/tensor/organ_views.h"
#include "fs/tensor/sampling.h"
#include "fs/util/halt.h"
#include "gguf/types.h"
#include "measure/low_rank.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* values decoded at a time: whole blocks of every type */
#define DECODED ((uint64_t)1 << 14)

struct difference_rows {
	const struct tensor_factors *of;
	const struct halt *halt;
	uint64_t row; /* row length for the search, in values */
	struct sampling here, there;
	uint8_t *scratch; /* DECODE_SCRATCH bytes */
	float *values;	  /* DECODED values of `here` */
};

/* Decode count values from value `start` on, the begin of a block. */
static int decode(const struct difference_rows *rows, const struct sampling *from, uint64_t start,
		  uint64_t count, float *values)
{
	const uint64_t block = type_find(from->type)->block_elements;

	return decode_read(from->file, from->offset, from->type, BACKING_UNCHECKED, start / block,
			   count / block, rows->scratch, values, rows->halt->reader);
}

/* Parts of DECODED values begin a block: rows are whole blocks, single ones if rank is 0. */
static int read_rows(void *context, size_t first, size_t n, float *values)
{
	const struct difference_rows *rows = context;
	const uint64_t end = n * rows->row;
	const uint64_t start = rows->of->first * rows->of->here->organ.ne[0] + first * rows->row;
	int rc = 0;

	if (rows->of->same) {
		memset(values, 0, end * sizeof(*values));
		return 0;
	}
	for (uint64_t at = 0; rc == 0 && at < end; at += DECODED) {
		const uint64_t count = end - at < DECODED ? end - at : DECODED;

		rc = decode(rows, &rows->there, start + at, count, values + at);
		if (rc == 0)
			rc = decode(rows, &rows->here, start + at, count, rows->values);
		for (uint64_t i = 0; rc == 0 && i < count; i++)
			values[at + i] -= rows->values[i];
	}
	return rc;
}

static bool is_wanted(void *context)
{
	const struct difference_rows *rows = context;

	return !halted(rows->halt);
}

/* The unchecked reads are valid if the files are unchanged. */
static int check(const struct difference_rows *rows)
{
	const int rc = rows->of->same ? 0 : backing_check(rows->here.file);

	return rc < 0 || rows->of->same ? rc : backing_check(rows->there.file);
}

int tensor_factors(const struct tensor_factors *of, const struct halt *halt,
		   struct low_rank *result)
{
	const struct organ *organ = &of->here->organ;
	/* Without factors, rows of the search may be short, since a tensor may be one row. */
	struct difference_rows rows = {
		.of = of,
		.halt = halt,
		.row = of->rank ? organ->ne[0] : type_find(organ->type)->block_elements,
	};
	const struct low_rank_source source = { (size_t)(of->rows * (organ->ne[0] / rows.row)),
						(size_t)rows.row, read_rows, is_wanted, &rows };
	int rc = -ENOMEM;

	if (!of->same &&
	    (!sampling_locate(&rows.here, of->here) || !sampling_locate(&rows.there, of->there)))
		return -EIO;
	rows.scratch = malloc(DECODE_SCRATCH);
	rows.values = malloc(DECODED * sizeof(*rows.values));
	if (rows.scratch && rows.values)
		rc = low_rank_find(&source, of->rank, result);
	free(rows.scratch);
	free(rows.values);
	if (rc < 0)
		return rc;
	rc = check(&rows);
	if (rc < 0)
		low_rank_release(result);
	return rc;
}
