/* SPDX-License-Identifier: MIT */
/* requantised_loss.c - see requantised_loss.h. */
#include "fs/tensor/requantised_loss.h"
#include "fs/storage/backing.h"
#include "fs/tensor/organ_views.h"
#include "fs/tensor/requantised.h"
#include "fs/tensor/sampling.h"
#include "fs/tensor/tensor_difference.h"
#include "measure/difference.h"

#include <errno.h>
#include <math.h>

static bool is_wanted(void *stop)
{
	return !stop || !atomic_load((const atomic_bool *)stop);
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
	rc = tensor_difference_values(&here, &there, &difference);
	*loss = difference.nonfinite ? NAN : difference_relative(&difference);
	backing_unref(made.file);
	return rc;
}
