/* SPDX-License-Identifier: MIT */
/* importance_matrix.c - see importance_matrix.h. */
#include "fs/tensor/importance_matrix.h"
#include "fs/storage/backing.h"
#include "gguf/cursor.h"
#include "gguf/error.h"
#include "gguf/importance.h"
#include "gguf/organ.h"
#include "gguf/quant.h"
#include "gguf/reader.h"

#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

struct importance_matrix {
	atomic_uint refs;
	struct backing *file;
	struct gguf *gguf;
};

struct importance_matrix *importance_matrix_new(struct backing *file, struct gguf *gguf)
{
	struct importance_matrix *matrix = malloc(sizeof(*matrix));

	if (!matrix) {
		gguf_free(gguf);
		backing_unref(file);
		return NULL;
	}
	atomic_init(&matrix->refs, 1);
	matrix->file = file;
	matrix->gguf = gguf;
	return matrix;
}

struct importance_matrix *importance_matrix_ref(struct importance_matrix *matrix)
{
	atomic_fetch_add(&matrix->refs, 1);
	return matrix;
}

void importance_matrix_unref(struct importance_matrix *matrix)
{
	if (!matrix || atomic_fetch_sub(&matrix->refs, 1) != 1)
		return;
	gguf_free(matrix->gguf);
	backing_unref(matrix->file);
	free(matrix);
}

bool importance_matrix_has(const struct importance_matrix *matrix, const struct organ *organ)
{
	struct source source;

	if (!matrix)
		return false;
	source = backing_source(matrix->file);
	return importance_fits(matrix->gguf, &source, organ->name, organ->name_length, organ->ne,
			       NULL) == 0;
}

bool importance_matrix_allows(const struct importance_matrix *matrix, const struct organ *organ,
			      uint32_t type)
{
	return !quant_needs_importance(type) || importance_matrix_has(matrix, organ);
}

struct importance_matrix *importance_matrix_for(struct importance_matrix *matrix,
						const struct organ *organ, uint32_t type)
{
	return quant_weighs(type) && importance_matrix_has(matrix, organ) ? matrix : NULL;
}

int importance_matrix_read(const struct importance_matrix *matrix, const struct organ *organ,
			   uint64_t expert, float *weights, struct error *err)
{
	const struct source source = backing_source(matrix->file);

	return importance_read(matrix->gguf, &source, organ->name, organ->name_length, organ->ne,
			       expert, weights, err);
}

int importance_matrix_encode(const struct importance_matrix *matrix, const struct organ *organ,
			     uint32_t type, uint64_t first, size_t n, const float *values,
			     uint8_t *bytes, struct importance_weights *kept)
{
	const struct type_info *info = type_find(type);
	const size_t length = (size_t)organ->ne[0];

	if (!matrix) {
		quant_row(type, values, n * length, NULL, bytes);
		return 0;
	}
	if (!kept->values) {
		kept->values = calloc(length, sizeof(*kept->values));
		kept->expert = UINT64_MAX;
	}
	if (!kept->values)
		return -ENOMEM;
	for (uint64_t row = first; row < first + n; row++) {
		const uint64_t expert = row / organ->ne[1] % organ->ne[2];

		if (expert != kept->expert &&
		    importance_matrix_read(matrix, organ, expert, kept->values, NULL) < 0)
			return -EIO;
		kept->expert = expert;
		quant_row(type, values, length, kept->values, bytes);
		values += length;
		bytes += length / info->block_elements * info->block_bytes;
	}
	return 0;
}

int importance_matrix_mean(const struct importance_matrix *matrix, const struct organ *organ,
			   double *mean, struct error *err)
{
	const uint64_t n = organ->ne[0], experts = organ->ne[2];
	float *weights;
	int rc = 0;

	*mean = NAN;
	if (!importance_matrix_has(matrix, organ))
		return 0;
	weights = n < SIZE_MAX ? calloc((size_t)n + 1, sizeof(*weights)) : NULL;
	if (!weights)
		return error_errno(err, ENOMEM);
	*mean = 0;
	for (uint64_t expert = 0; rc == 0 && expert < experts; expert++) {
		rc = importance_matrix_read(matrix, organ, expert, weights, err);
		for (uint64_t i = 0; rc == 0 && i < n; i++)
			*mean += (double)weights[i] / (double)n / (double)experts;
	}
	free(weights);
	return rc;
}
