/* SPDX-License-Identifier: MIT */
/* importance.c - see importance.h. */
#include "importance.h"
#include "bytes.h"
#include "cursor.h"
#include "dequant.h"
#include "error.h"
#include "reader.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>

#define TYPE	  "imatrix"
#define SUMS	  ".in_sum2"
#define COUNTS	  ".counts"
#define NAME_MOST 63u /* ggml cuts longer names */

int importance_check(const struct gguf *matrix, const struct source *source, struct error *err)
{
	const struct kv *kv = gguf_find(matrix, "general.type");
	char type[sizeof(TYPE) - 1] = "";

	if (kv && kv->type == KV_STRING && kv->length == sizeof(type) &&
	    source->read_at(source->context, type, sizeof(type), kv->offset) < 0)
		return error_set(err, EIO, kv->offset, "general.type cannot be read");
	if (memcmp(type, TYPE, sizeof(type)) != 0)
		return error_set(err, EINVAL, kv ? kv->offset : ERROR_NO_OFFSET,
				 "not an importance matrix: general.type is not " TYPE
				 ", which llama-imatrix writes");
	if (matrix->n_tensors == 0)
		return error_set(err, EINVAL, ERROR_NO_OFFSET,
				 "the importance matrix has no tensors");
	return 0;
}

/* NULL: there is none. */
static const struct gguf_tensor *find(const struct gguf *matrix, const char *name, size_t length,
				      const char *ending)
{
	char whole[NAME_MOST];
	const size_t n = strlen(ending);

	if (length > sizeof(whole) - n)
		return NULL;
	memcpy(whole, name, length);
	memcpy(whole + length, ending, n);
	return gguf_tensor(matrix, whole, length + n);
}

bool importance_has(const struct gguf *matrix, const char *name, size_t length)
{
	return find(matrix, name, length, SUMS) || find(matrix, name, length, COUNTS);
}

static bool holds(const struct source *source, const struct gguf_tensor *tensor, uint64_t n)
{
	uint64_t elements;

	return tensor->type == GGML_F32 && shape_elements(tensor->ne, &elements) && elements == n &&
	       tensor->offset <= source->size &&
	       n <= (source->size - tensor->offset) / sizeof(float);
}

static int check_shapes(const struct source *source, const struct gguf_tensor *sums,
			const struct gguf_tensor *counts, const uint64_t ne[GGML_AXES],
			struct error *err)
{
	uint64_t n;

	if (!mul_u64(ne[0], ne[2], &n) || n == 0 || ne[3] != 1 || !holds(source, sums, n))
		return error_set(err, EINVAL, sums->info,
				 "%s is not F32 with %" PRIu64 " values for each of %" PRIu64
				 " matrices, as the model's tensor needs",
				 sums->name, ne[0], ne[2]);
	if (!holds(source, counts, 1) && !holds(source, counts, ne[2]))
		return error_set(err, EINVAL, counts->info,
				 "%s is not F32 with one value, or one for each of %" PRIu64
				 " matrices",
				 counts->name, ne[2]);
	return 0;
}

/* Read n values from value `first` on; all have to be finite and not negative. */
static int read_values(const struct source *source, const struct gguf_tensor *tensor,
		       uint64_t first, uint64_t n, float *values, struct error *err)
{
	uint8_t bytes[4096];
	const size_t most = sizeof(bytes) / sizeof(float);

	while (n) {
		const size_t part = n < most ? (size_t)n : most;
		const uint64_t at = tensor->offset + first * sizeof(float);

		if (source->read_at(source->context, bytes, part * sizeof(float), at) < 0)
			return error_set(err, EIO, at, "%s cannot be read", tensor->name);
		dequant_blocks(GGML_F32, bytes, part, values);
		for (size_t i = 0; i < part; i++)
			if (!isfinite(values[i]) || values[i] < 0)
				return error_set(
					err, EINVAL, at + i * sizeof(float),
					"%s has a value that is negative or not finite: %g",
					tensor->name, (double)values[i]);
		values += part;
		first += part;
		n -= part;
	}
	return 0;
}

/* Check all n values. */
static int check_values(const struct source *source, const struct gguf_tensor *tensor, uint64_t n,
			struct error *err)
{
	float values[1024];
	const uint64_t most = sizeof(values) / sizeof(values[0]);
	int rc = 0;

	for (uint64_t i = 0; rc == 0 && i < n; i += most)
		rc = read_values(source, tensor, i, n - i < most ? n - i : most, values, err);
	return rc;
}

/* Find both tensors of the matrix and check their shapes. */
static int find_both(const struct gguf *matrix, const struct source *source, const char *name,
		     size_t length, const uint64_t ne[GGML_AXES], const struct gguf_tensor **sums,
		     const struct gguf_tensor **counts, struct error *err)
{
	*sums = find(matrix, name, length, SUMS);
	*counts = find(matrix, name, length, COUNTS);
	if (!*sums || !*counts)
		return error_set(err, EINVAL, ERROR_NO_OFFSET, "%.*s has no %s", (int)length, name,
				 *sums ? COUNTS : SUMS);
	return check_shapes(source, *sums, *counts, ne, err);
}

int importance_fits(const struct gguf *matrix, const struct source *source, const char *name,
		    size_t length, const uint64_t ne[GGML_AXES], struct error *err)
{
	const struct gguf_tensor *sums, *counts;

	return find_both(matrix, source, name, length, ne, &sums, &counts, err);
}

int importance_check_tensor(const struct gguf *matrix, const struct source *source,
			    const char *name, size_t length, const uint64_t ne[GGML_AXES],
			    struct error *err)
{
	const struct gguf_tensor *sums, *counts;
	int rc = find_both(matrix, source, name, length, ne, &sums, &counts, err);

	if (rc == 0)
		rc = check_values(source, counts, holds(source, counts, 1) ? 1 : ne[2], err);
	return rc == 0 ? check_values(source, sums, ne[0] * ne[2], err) : rc;
}

int importance_read(const struct gguf *matrix, const struct source *source, const char *name,
		    size_t length, const uint64_t ne[GGML_AXES], uint64_t expert, float *weights,
		    struct error *err)
{
	const struct gguf_tensor *sums, *counts;
	float count;
	int rc = find_both(matrix, source, name, length, ne, &sums, &counts, err);

	if (rc == 0)
		rc = read_values(source, counts, holds(source, counts, 1) ? 0 : expert, 1, &count,
				 err);
	if (rc == 0)
		rc = read_values(source, sums, expert * ne[0], ne[0], weights, err);
	count = rc == 0 ? roundf(count) : 0;
	for (uint64_t i = 0; rc == 0 && i < ne[0]; i++)
		weights[i] = count > 0 ? weights[i] / count : 1;
	return rc;
}
