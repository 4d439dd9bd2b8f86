/* SPDX-License-Identifier: MIT */
/* requantised_loss.c - see requantised_loss.h. */
#include "fs/tensor/requantised_loss.h"
#include "fs/storage/backing.h"
#include "fs/tensor/importance_matrix.h"
#include "fs/tensor/organ_views.h"
#include "fs/tensor/requantised.h"
#include "fs/tensor/sampling.h"
#include "fs/tensor/tensor_difference.h"
#include "measure/difference.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static bool is_wanted(void *stop)
{
	return !stop || !atomic_load((const atomic_bool *)stop);
}

/* Weights, one expert at a time. */
struct weighing {
	const struct organ *organ;
	struct importance_matrix *importance;
	float *roots;	 /* ne[0] square roots of weights */
	uint64_t expert; /* expert of these; UINT64_MAX: none yet */
};

static int read_roots(struct weighing *weighing, uint64_t expert)
{
	const uint64_t length = weighing->organ->ne[0];

	if (expert == weighing->expert)
		return 0;
	if (importance_matrix_read(weighing->importance, weighing->organ, expert, weighing->roots,
				   NULL) < 0)
		return -EIO;
	for (uint64_t i = 0; i < length; i++)
		weighing->roots[i] = sqrtf(weighing->roots[i]);
	weighing->expert = expert;
	return 0;
}

static int weigh(void *context, uint64_t at, size_t n, float *a, float *b)
{
	struct weighing *weighing = context;
	const uint64_t *ne = weighing->organ->ne;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n; i++) {
		const uint64_t column = (at + i) % ne[0], row = (at + i) / ne[0];

		if (i == 0 || column == 0)
			rc = read_roots(weighing, row / ne[1] % ne[2]);
		a[i] *= weighing->roots[column];
		b[i] *= weighing->roots[column];
	}
	return rc;
}

static int compare(const struct organ_location *located, struct importance_matrix *importance,
		   const struct sampling *here, const struct sampling *there,
		   struct difference *difference)
{
	struct weighing weighing = { .organ = &located->organ,
				     .importance = importance,
				     .expert = UINT64_MAX };
	int rc;

	if (!importance_matrix_has(importance, &located->organ))
		return tensor_difference_values(here, there, NULL, NULL, difference);
	weighing.roots = calloc((size_t)located->organ.ne[0], sizeof(*weighing.roots));
	rc = weighing.roots ? tensor_difference_values(here, there, weigh, &weighing, difference)
			    : -ENOMEM;
	free(weighing.roots);
	return rc;
}

int requantised_loss(const struct organ_location *located, uint32_t type,
		     struct importance_matrix *importance, const atomic_bool *stop, double *loss)
{
	struct sampling here = { .wanted = is_wanted, .context = (void *)stop, .stop = stop };
	struct sampling there = here;
	struct difference difference = { 0 };
	struct organ_location made;
	int rc;

	*loss = 0;
	if (type == located->organ.type)
		return 0;
	if (!sampling_locate(&here, located))
		return -ENOTSUP;
	made = requantised_location(located, type, importance);
	if (!made.file)
		return -ENOMEM;
	sampling_locate(&there, &made);
	rc = compare(located, importance, &here, &there, &difference);
	*loss = difference.nonfinite ? NAN : difference_relative(&difference);
	backing_unref(made.file);
	return rc;
}
