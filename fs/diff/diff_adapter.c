/* SPDX-License-Identifier: MIT */
/* diff_adapter.c - see diff_adapter.h. */
#include "fs/diff/diff_adapter.h"
#include "fs/diff/diff.h"
#include "fs/diff/diff_factors.h"
#include "fs/diff/diff_keys.h"
#include "fs/diff/diff_low_rank.h"
#include "fs/diff/diff_side.h"
#include "fs/metadata/metadata.h"
#include "fs/storage/backing.h"
#include "fs/storage/view.h"
#include "fs/util/parallel.h"
#include "gguf/adapter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Limit of the length of an architecture's name. */
#define ARCHITECTURE_MOST 64u

/* Pair that the halves of a place come from. */
struct adapter_source {
	size_t pair;
	uint32_t rank;
	uint32_t slices;
};

struct adapter_data {
	struct diff_factors *factors; /* owns a reference */
	struct adapter plan;
	struct adapter_source *sources; /* one for each place of the plan */
	/* End of the last read: a reader that goes on there gets further matrices prepared. */
	_Atomic uint64_t following;
};

static void free_data(struct adapter_data *data)
{
	adapter_release(&data->plan);
	diff_factors_unref(data->factors);
	free(data->sources);
	free(data);
}

static void release(void *context)
{
	free_data(context);
}

/* One contiguous part of the adapter file: the A or B half of one slice, or padding. */
struct adapter_part {
	struct diff_matrix matrix;
	unsigned half;
	uint64_t offset; /* within that half of the slice */
	uint64_t length; /* bytes up to the part's end */
	bool padding;	 /* only zeros */
};

/* Place of the offset, or the last one before it. */
static uint32_t find_place(const struct adapter_data *data, uint64_t offset)
{
	uint32_t low = 0, high = data->plan.n;

	while (high - low > 1) {
		const uint32_t middle = low + (high - low) / 2;

		if (data->plan.places[middle].a <= offset)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static struct adapter_part find_part(const struct adapter_data *data, uint64_t offset)
{
	const uint32_t i = find_place(data, offset);
	const struct adapter_place *place = &data->plan.places[i];
	const struct adapter_source *source = &data->sources[i];
	const bool second = offset >= place->b;
	const uint64_t size = second ? place->b_size : place->a_size;
	const uint64_t slice = size / source->slices, at = offset - (second ? place->b : place->a);
	const uint64_t next = !second		     ? place->b
			      : i + 1 < data->plan.n ? place[1].a
						     : data->plan.size;
	struct adapter_part part = { .half = second, .padding = at >= size };

	part.matrix = (struct diff_matrix){ source->pair, (uint32_t)(at / slice), source->rank };
	part.offset = at % slice;
	part.length = part.padding ? next - offset : slice - part.offset;
	return part;
}

/* List at most most matrices in file order, from the one at offset on, as long as the cache has
 * room for them. Returns their number. */
static size_t find_following(const struct adapter_data *data, uint64_t offset,
			     struct diff_matrix *matrices, size_t most)
{
	uint32_t i = find_place(data, offset);
	uint32_t slice = find_part(data, offset).matrix.slice;
	uint64_t size = 0;
	size_t n = 0;

	for (; i < data->plan.n && n < most; i++, slice = 0) {
		const struct adapter_place *place = &data->plan.places[i];
		const struct adapter_source *source = &data->sources[i];
		const uint64_t each = (place->a_size + place->b_size) / source->slices;

		for (; slice < source->slices && n < most; slice++) {
			size += each;
			if (n > 0 && size > diff_factors_room(data->factors) / 2)
				return n;
			matrices[n++] = (struct diff_matrix){ source->pair, slice, source->rank };
		}
	}
	return n;
}

/* Read-ahead: a sequential reader that arrives at a matrix gets it and the following ones computed
 * together, as many as there are threads, and no more before it has read all of them. */
static int find_ahead(struct adapter_data *data, const struct diff_matrix *matrix, uint64_t offset,
		      const atomic_bool *stop)
{
	const size_t most = parallel_threads();
	struct diff_matrix *matrices;
	int rc;

	if (most < 2 || atomic_load(&data->following) != offset ||
	    diff_factors_has(data->factors, matrix))
		return 0;
	matrices = calloc(most, sizeof(*matrices));
	if (!matrices)
		return -ENOMEM;
	rc = diff_factors_prepare(data->factors, matrices,
				  find_following(data, offset, matrices, most), stop);
	free(matrices);
	return rc;
}

/* Read n bytes of one part. */
static int read_part(struct adapter_data *data, const struct adapter_part *part, uint64_t offset,
		     void *bytes, size_t n, const atomic_bool *stop)
{
	const struct diff_factor *factor;
	int rc = 0;

	if (part->padding) {
		memset(bytes, 0, n);
		return 0;
	}
	/* An error of another matrix is reported when that matrix is read. */
	if (part->offset == 0)
		rc = find_ahead(data, &part->matrix, offset, stop);
	if (rc == -EINTR)
		return rc;
	factor = diff_factors_get(data->factors, &part->matrix, stop, &rc);
	if (!factor)
		return rc;
	memcpy(bytes, (const char *)factor->halves[part->half] + part->offset, n);
	diff_factors_put(data->factors, factor);
	return 0;
}

static int read_at(void *context, unsigned flags, void *bytes, size_t n, uint64_t offset,
		   const atomic_bool *stop)
{
	struct adapter_data *data = context;
	uint8_t *to = bytes;

	(void)flags;
	if (offset < data->plan.header_size || offset > data->plan.size ||
	    n > data->plan.size - offset)
		return -EIO;
	while (n) {
		const struct adapter_part part = find_part(data, offset);
		const size_t length = part.length < n ? (size_t)part.length : n;
		const int rc = read_part(data, &part, offset, to, length, stop);

		if (rc < 0)
			return rc;
		to += length;
		offset += length;
		n -= length;
		atomic_store(&data->following, offset);
	}
	return 0;
}

/* Architecture of the model here, at most ARCHITECTURE_MOST bytes; empty if it has none. */
static int read_architecture(const struct diff_side *side, char *text, uint32_t *length)
{
	static const char name[] = "general.architecture";
	const struct diff_key *key = diff_side_key(side, name, strlen(name));
	const struct value *value = key ? metadata_entry_value(key->value) : NULL;

	*length = 0;
	if (!value || value->type.type != KV_STRING || value->length > ARCHITECTURE_MOST)
		return 0;
	*length = (uint32_t)value->length;
	return value->source->read_at(value->source->context, text, *length, value->offset);
}

/* Find the smallest pair, which stands for all if no tensor differs. False: there is none. */
static bool find_smallest(const struct diff *diff, size_t *smallest)
{
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < diff->n; i++) {
		if (diff_low_rank_of_any(diff, i) != DIFF_LOW_RANK_OK ||
		    diff->pairs[i].here->at.organ.data_size >= least)
			continue;
		least = diff->pairs[i].here->at.organ.data_size;
		*smallest = i;
	}
	return least < UINT64_MAX;
}

/* Choose the pairs of the adapter, into numbers. Returns their number. */
static size_t choose(const struct diff *diff, size_t *numbers)
{
	size_t n = 0;

	for (size_t i = 0; i < diff->n; i++)
		if (diff_low_rank(diff, i) == DIFF_LOW_RANK_OK)
			numbers[n++] = i;
	if (n == 0 && find_smallest(diff, numbers))
		n = 1;
	return n;
}

static int build_plan(struct adapter_data *data, const size_t *numbers, size_t n, uint32_t rank)
{
	const struct diff *diff = diff_factors_diff(data->factors);
	struct adapter_target *targets = calloc(n, sizeof(*targets));
	char architecture[ARCHITECTURE_MOST];
	uint32_t length;
	int rc = -ENOMEM;

	data->sources = calloc(n, sizeof(*data->sources));
	if (targets && data->sources)
		rc = read_architecture(diff->here, architecture, &length);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		const struct diff_pair *pair = &diff->pairs[numbers[i]];
		const uint32_t of = diff_low_rank_rank(pair, rank);

		targets[i] = (struct adapter_target){ pair->here->at.organ, of };
		data->sources[i] = (struct adapter_source){ numbers[i], of,
							    (uint32_t)diff_low_rank_slices(pair) };
	}
	if (rc == 0)
		rc = adapter_build(architecture, length, targets, (uint32_t)n, &data->plan);
	free(targets);
	return rc;
}

/* Returns 0, -EINVAL if the weights have different bases (basis.h), or as diff_keys_find(). */
static int check_basis(const struct diff *diff)
{
	struct diff_keys keys;
	int rc = diff_keys_find(&keys, diff->here, diff->there);

	if (rc == 0 && diff_keys_other_basis(&keys))
		rc = -EINVAL;
	diff_keys_release(&keys);
	return rc;
}

/* Plan the adapter. NULL with *rc set. */
static struct adapter_data *new_data(struct diff_factors *factors, uint32_t rank, int *rc)
{
	const struct diff *diff = diff_factors_diff(factors);
	size_t *numbers = calloc(diff->n + 1, sizeof(*numbers));
	struct adapter_data *data = numbers ? calloc(1, sizeof(*data)) : NULL;
	size_t n;

	*rc = -ENOMEM;
	if (data) {
		data->factors = diff_factors_ref(factors);
		n = choose(diff, numbers);
		*rc = n ? check_basis(diff) : -ENODATA;
		if (*rc == 0)
			*rc = build_plan(data, numbers, n, rank);
	}
	free(numbers);
	if (data && *rc < 0) {
		free_data(data);
		data = NULL;
	}
	return data;
}

/* A backing of the file's size, of which all but the header can be read. */
static struct backing *backing_of(struct adapter_data *data)
{
	const struct diff *diff = diff_factors_diff(data->factors);
	struct backing *of = diff->pairs[data->sources[0].pair].here->at.file;
	struct stat stat = *backing_stat(of);

	stat.st_size = (off_t)data->plan.size;
	return backing_from_ops(&(struct backing_ops){ .read = read_at,
						       .release = release,
						       .context = data,
						       .computed = true },
				backing_path(of), &stat);
}

struct view *diff_adapter_view(struct diff_factors *factors, uint32_t rank, int *rc)
{
	struct adapter_data *data = new_data(factors, rank, rc);
	struct segment segments[2] = { { .kind = SEGMENT_MEMORY }, { .kind = SEGMENT_EXTENT } };
	struct view *view = NULL;
	struct backing *file;
	uint8_t *header;

	if (!data)
		return NULL;
	header = data->plan.header;
	data->plan.header = NULL;
	segments[0].length = segments[1].offset = data->plan.header_size;
	segments[0].memory = header;
	segments[1].length = data->plan.size - data->plan.header_size;
	file = backing_of(data);
	segments[1].backing = file;
	*rc = -ENOMEM;
	if (file)
		view = view_new(segments, 2, header);
	else
		free(header);
	backing_unref(file);
	if (view)
		*rc = 0;
	return view;
}
