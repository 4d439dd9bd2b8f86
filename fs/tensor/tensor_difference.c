/* SPDX-License-Identifier: MIT */
/* tensor_difference.c - see tensor_difference.h. */
#include "fs/tensor/tensor_difference.h"
#include "fs/storage/backing.h"
#include "fs/tensor/organ_views.h"
#include "fs/tensor/sampling.h"
#include "fs/util/halt.h"
#include "gguf/dequant.h"
#include "gguf/types.h"
#include "measure/difference.h"
#include "measure/sample.h"
#include "measure/zmeasure.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* bytes of each that are compared at a time */
#define CHUNK ((size_t)1 << 20)

const char *tensor_difference_status(enum tensor_difference_status status)
{
	static const char *const names[DIFFERENCE_STATUSES] = {
		[DIFFERENCE_OK] = "ok",
		[DIFFERENCE_NONFINITE] = "nonfinite",
		[DIFFERENCE_UNDECODED] = "undecoded",
		[DIFFERENCE_SHORT] = "short",
		[DIFFERENCE_MISSING] = "missing",
		[DIFFERENCE_SHAPE] = "shape",
		[DIFFERENCE_ONLY_HERE] = "only-here",
		[DIFFERENCE_ONLY_THERE] = "only-there",
	};

	return names[status];
}

static bool is_same_form(const struct organ *a, const struct organ *b)
{
	return a->type == b->type && a->data_size == b->data_size &&
	       memcmp(a->ne, b->ne, sizeof(a->ne)) == 0;
}

static bool is_same_file(const struct backing *a, const struct backing *b)
{
	const struct stat *x = backing_stat(a), *y = backing_stat(b);

	if (a == b)
		return true;
	return backing_is_plain(a) && backing_is_plain(b) && !backing_is_remote(a) &&
	       !backing_is_remote(b) && x->st_dev == y->st_dev && x->st_ino == y->st_ino &&
	       x->st_size == y->st_size && x->st_mtim.tv_sec == y->st_mtim.tv_sec &&
	       x->st_mtim.tv_nsec == y->st_mtim.tv_nsec;
}

bool tensor_difference_is_none(const struct organ_location *here,
			       const struct organ_location *there)
{
	uint64_t a_offset = here->offset, b_offset = there->offset;
	uint64_t a_length = here->organ.data_size, b_length = there->organ.data_size;
	const struct backing *a = here->file, *b = there->file;

	if (!a || !b || !is_same_form(&here->organ, &there->organ))
		return false;
	if (a == b)
		return a_offset == b_offset;
	a = backing_file_at(here->file, &a_offset, &a_length);
	b = backing_file_at(there->file, &b_offset, &b_length);
	return a && b && a_length == here->organ.data_size && b_length == a_length &&
	       a_offset == b_offset && is_same_file(a, b);
}

struct comparing {
	const struct organ_location *here, *there;
	struct sampling a, b;
	struct halt halt;
};

static bool is_wanted(void *context)
{
	return !halted(context);
}

static int read_bytes(const struct comparing *c, const struct organ_location *of, uint8_t *bytes,
		      size_t n, uint64_t at)
{
	return backing_read_cancellable(of->file, 0, bytes, n, of->offset + at, c->halt.reader);
}

/* Are all bytes equal? */
static int compare_bytes(const struct comparing *c, bool *same)
{
	uint8_t *a = malloc(CHUNK), *b = malloc(CHUNK);
	const uint64_t size = c->here->organ.data_size;
	int rc = a && b ? 0 : -ENOMEM;

	*same = true;
	for (uint64_t at = 0; rc == 0 && *same && at < size; at += CHUNK) {
		const size_t n = size - at < CHUNK ? (size_t)(size - at) : CHUNK;

		rc = halted(&c->halt) ? -EINTR : read_bytes(c, c->here, a, n, at);
		if (rc == 0)
			rc = read_bytes(c, c->there, b, n, at);
		*same = rc == 0 && memcmp(a, b, n) == 0;
	}
	free(a);
	free(b);
	return rc;
}

/* Add the pairs of sampled values, for which a and b are buffers. */
static int add_sampled(const struct comparing *c, float *a, float *b, size_t n,
		       struct difference *difference)
{
	int rc = sampling_values(&c->a, a);

	if (rc == 0)
		rc = sampling_values(&c->b, b);
	if (rc == 0)
		difference_add(difference, a, b, n);
	return rc;
}

int tensor_difference_values(const struct sampling *here, const struct sampling *there,
			     tensor_weigh_fn *weigh, void *context, struct difference *difference)
{
	float *a = malloc(SAMPLING_RANGE_MAX * sizeof(*a));
	float *b = malloc(SAMPLING_RANGE_MAX * sizeof(*b));
	int rc = a && b ? 0 : -ENOMEM;

	for (uint64_t at = 0; rc == 0 && at < here->elements; at += SAMPLING_RANGE_MAX) {
		const uint64_t left = here->elements - at;
		const size_t n = left < SAMPLING_RANGE_MAX ? (size_t)left : SAMPLING_RANGE_MAX;

		rc = sampling_range(here, at, n, a);
		if (rc == 0)
			rc = sampling_range(there, at, n, b);
		if (rc == 0 && weigh)
			rc = weigh(context, at, n, a, b);
		if (rc == 0)
			difference_add(difference, a, b, n);
	}
	if (rc == 0)
		rc = backing_check(here->file);
	if (rc == 0)
		rc = backing_check(there->file);
	free(b);
	free(a);
	return rc;
}

static int compare_values(const struct comparing *c, struct difference *difference)
{
	const size_t n = (size_t)sample_total(c->a.elements, c->a.samples);
	float *a, *b;
	int rc = -ENOMEM;

	if (c->a.samples == SAMPLES_ALL)
		return tensor_difference_values(&c->a, &c->b, NULL, NULL, difference);
	a = malloc((n + 1) * sizeof(*a));
	b = malloc((n + 1) * sizeof(*b));
	if (a && b)
		rc = add_sampled(c, a, b, n, difference);
	free(b);
	free(a);
	return rc;
}

static int measure(const struct comparing *c, struct tensor_difference *result)
{
	struct difference difference = { 0 };
	struct zmeasure here, there;
	int rc = compare_values(c, &difference);

	if (rc == 0)
		rc = sampling_measure(&c->a, &here);
	if (rc == 0)
		rc = sampling_measure(&c->b, &there);
	if (rc < 0)
		return rc;
	*result = (struct tensor_difference){
		.status = difference.nonfinite ? DIFFERENCE_NONFINITE : DIFFERENCE_OK,
		.cosine = difference_cosine(&difference),
		.relative = difference_relative(&difference),
		.average = difference_average(&difference),
		.largest = difference.pairs ? difference.largest : NAN,
		.theta = there.theta - here.theta,
	};
	return 0;
}

static struct tensor_difference nothing_known(enum tensor_difference_status status)
{
	return (struct tensor_difference){ .status = status,
					   .cosine = NAN,
					   .relative = NAN,
					   .average = NAN,
					   .largest = NAN,
					   .theta = NAN };
}

static int compare(struct comparing *c, struct tensor_difference *result)
{
	const struct organ *a = &c->here->organ, *b = &c->there->organ;
	bool same = tensor_difference_is_none(c->here, c->there);
	int rc = 0;

	if (!same && is_same_form(a, b))
		rc = compare_bytes(c, &same);
	if (rc < 0)
		return rc;
	if (same)
		*result = (struct tensor_difference){ .same = true, .cosine = 1 };
	else if (type_is_short(a->type) || type_is_short(b->type))
		*result = nothing_known(DIFFERENCE_SHORT);
	else if (!dequant_supported(a->type) || !dequant_supported(b->type))
		*result = nothing_known(DIFFERENCE_UNDECODED);
	else
		rc = measure(c, result);
	return rc;
}

int tensor_difference(const struct organ_location *here, const struct organ_location *there,
		      uint64_t samples, const struct halt *halt, struct tensor_difference *result)
{
	struct comparing c = { .here = here, .there = there, .halt = *halt };

	c.a.samples = c.b.samples = samples;
	c.a.wanted = c.b.wanted = is_wanted;
	c.a.context = c.b.context = &c.halt;
	c.a.stop = c.b.stop = halt->reader;
	if (!here || !there)
		*result = nothing_known(here ? DIFFERENCE_ONLY_HERE : DIFFERENCE_ONLY_THERE);
	else if (memcmp(here->organ.ne, there->organ.ne, sizeof(here->organ.ne)) != 0)
		*result = nothing_known(DIFFERENCE_SHAPE);
	else if (!sampling_locate(&c.a, here) || !sampling_locate(&c.b, there))
		*result = nothing_known(DIFFERENCE_MISSING);
	else
		return compare(&c, result);
	return 0;
}
