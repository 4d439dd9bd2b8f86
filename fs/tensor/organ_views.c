/* SPDX-License-Identifier: MIT */
/* organ_views.c - see organ_views.h. */
#include "fs/tensor/organ_views.h"
#include "fs/tensor/expert_slice.h"
#include "fs/tensor/npy.h"
#include "fs/tensor/purified.h"

const char *organ_view_name(enum organ_view form)
{
	static const char *const names[ORGAN_VIEWS] = { "npy", "spectral", "fractal", "experts" };

	return names[form];
}

const char *organ_view_suffix(enum organ_view form)
{
	static const char *const endings[ORGAN_VIEWS] = { ".npy", ".bin", ".bin", "" };

	return endings[form];
}

bool organ_view_exists(enum organ_view form, const struct organ *organ)
{
	uint64_t size;

	switch (form) {
	case ORGAN_VIEW_NPY:
		return npy_supports(organ->type) && npy_size(organ, &size);
	case ORGAN_VIEW_EXPERTS:
		return expert_slice_count(organ) > 0;
	default:
		return true;
	}
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
	switch (form) {
	case ORGAN_VIEW_NPY:
		return npy_view(located);
	case ORGAN_VIEW_SPECTRAL:
		return purified_view(PURIFIER_SPECTRAL, located);
	case ORGAN_VIEW_FRACTAL:
		return purified_view(PURIFIER_FRACTAL, located);
	default:
		return organ_location_view(located);
	}
}
