/* SPDX-License-Identifier: MIT */
/* requantised_loss.c - see requantised_loss.h. */
#include "fs/tensor/requantised_loss.h"
#include "fs/storage/backing.h"
#include "fs/tensor/organ_views.h"
#include "fs/tensor/sampling.h"
#include "gguf/dequant.h"
#include "gguf/quant.h"
#include "measure/difference.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* A range is whole blocks of every type. */
struct range {
	float values[SAMPLING_RANGE_MAX], back[SAMPLING_RANGE_MAX];
	uint8_t bytes[SAMPLING_RANGE_MAX * sizeof(float)]; /* of the values in the other type */
};

static int add_range(const struct sampling *s, uint64_t at, uint32_t type, struct range *range,
		     struct difference *difference)
{
	const uint64_t left = s->elements - at;
	const size_t n = left < SAMPLING_RANGE_MAX ? (size_t)left : SAMPLING_RANGE_MAX;
	const int rc = sampling_range(s, at, n, range->values);

	if (rc < 0)
		return rc;
	quant_row(type, range->values, n, NULL, range->bytes);
	dequant_blocks(type, range->bytes, n / type_find(type)->block_elements, range->back);
	difference_add(difference, range->values, range->back, n);
	return 0;
}

static bool is_wanted(void *stop)
{
	return !stop || !atomic_load((const atomic_bool *)stop);
}

int requantised_loss(const struct organ_location *located, uint32_t type, const atomic_bool *stop,
		     double *loss)
{
	struct sampling s = { .wanted = is_wanted, .context = (void *)stop, .stop = stop };
	struct difference difference = { 0 };
	struct range *range;
	int rc = 0;

	*loss = 0;
	if (type == located->organ.type)
		return 0;
	if (!sampling_locate(&s, located))
		return -ENOTSUP;
	range = malloc(sizeof(*range));
	if (!range)
		return -ENOMEM;
	for (uint64_t at = 0; rc == 0 && at < s.elements; at += SAMPLING_RANGE_MAX)
		rc = is_wanted(s.context) ? add_range(&s, at, type, range, &difference) : -EINTR;
	free(range);
	if (rc == 0)
		rc = backing_check(s.file);
	*loss = difference.nonfinite ? NAN : difference_relative(&difference);
	return rc;
}
