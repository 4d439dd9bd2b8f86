/* SPDX-License-Identifier: MIT */
/* forms.c - see forms.h. */
#include "fs/tensor/organ_views.h"
#include "fs/tensor/expert_slice.h"
#include "fs/tensor/npy.h"
#include "fs/tensor/purified.h"

const char *form_name(enum form form)
{
	static const char *const names[FORMS] = { "npy", "spectral", "fractal", "experts" };

	return names[form];
}

const char *form_ending(enum form form)
{
	static const char *const endings[FORMS] = { ".npy", ".bin", ".bin", "" };

	return endings[form];
}

bool form_has(enum form form, const struct organ *organ)
{
	uint64_t size;

	switch (form) {
	case FORM_NPY:
		return npy_can(organ->type) && npy_size(organ, &size);
	case FORM_EXPERTS:
		return experts_count(organ) > 0;
	default:
		return true;
	}
}

struct organ form_organ(enum form form, const struct organ *organ)
{
	return form == FORM_SPECTRAL || form == FORM_FRACTAL ? purified_organ(organ) : *organ;
}

uint64_t form_size(enum form form, const struct organ *organ)
{
	const struct organ made = form_organ(form, organ);
	uint64_t size = 0;

	if (form == FORM_NPY)
		npy_size(organ, &size);
	else
		size = made.header_size + made.data_size;
	return size;
}

struct view *form_view(enum form form, const struct located *located)
{
	switch (form) {
	case FORM_NPY:
		return npy_view(located);
	case FORM_SPECTRAL:
		return purified_view(PURIFIER_SPECTRAL, located);
	case FORM_FRACTAL:
		return purified_view(PURIFIER_FRACTAL, located);
	default:
		return located_view(located);
	}
}
