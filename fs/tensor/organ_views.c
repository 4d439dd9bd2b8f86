/* SPDX-License-Identifier: MIT */
/* organ_views.c - see organ_views.h. */
#include "fs/tensor/organ_views.h"
#include "fs/storage/view.h"
#include "fs/tensor/expert_slice.h"
#include "fs/tensor/npy.h"
#include "fs/tensor/purified.h"

#include <stdlib.h>

const struct organ_view_words organ_view_words[ORGAN_VIEWS] = {
	{ "npy", ".npy" },
	{ "spectral", ".bin" },
	{ "fractal", ".bin" },
	{ "experts", "" },
};

struct view *organ_location_view(const struct organ_location *located)
{
	const struct organ *organ = &located->organ;
	uint8_t *header = malloc(organ->header_size);
	const struct segment segments[] = {
		{ .kind = SEGMENT_MEMORY, .length = organ->header_size, .memory = header },
		{ .kind = SEGMENT_EXTENT,
		  .length = organ->data_size,
		  .backing = located->file,
		  .offset = located->offset },
	};

	if (!header)
		return NULL;
	organ_write_header(organ, header);
	return view_new(segments, 2, header);
}

bool organ_view_exists(enum organ_view form, const struct organ *organ)
{
	uint64_t size;

	if (form == ORGAN_VIEW_NPY)
		return npy_supports(organ->type) && npy_size(organ, &size);
	return form != ORGAN_VIEW_EXPERTS || expert_slice_count(organ) > 0;
}

struct organ organ_view_organ(enum organ_view form, const struct organ *organ)
{
	return form == ORGAN_VIEW_SPECTRAL || form == ORGAN_VIEW_FRACTAL ? purified_organ(organ)
									 : *organ;
}

uint64_t organ_view_size(enum organ_view form, const struct organ *organ)
{
	const struct organ made = organ_view_organ(form, organ);
	uint64_t size = 0;

	if (form == ORGAN_VIEW_NPY)
		npy_size(organ, &size);
	else
		size = made.header_size + made.data_size;
	return size;
}

struct view *organ_view_new(enum organ_view form, const struct organ_location *located)
{
	if (form == ORGAN_VIEW_NPY)
		return npy_view(located);
	if (form == ORGAN_VIEW_SPECTRAL)
		return purified_view(PURIFIER_SPECTRAL, located);
	if (form == ORGAN_VIEW_FRACTAL)
		return purified_view(PURIFIER_FRACTAL, located);
	return organ_location_view(located);
}
