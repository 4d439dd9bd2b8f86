/* SPDX-License-Identifier: MIT */
/* organ_views.c - see organ_views.h. */
#include "fs/tensor/organ_views.h"
#include "fs/storage/view.h"
#include "fs/tensor/expert_slice.h"
#include "fs/tensor/npy.h"
#include "fs/tensor/purified.h"
#include "fs/tensor/requantised.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name, *suffix;
} forms[ORGAN_VIEWS] = {
	{ "npy", ".npy" },
	{ "spectral", ".bin" },
	{ "fractal", ".bin" },
	{ "experts", "" },
};

/* The types of .views/types, from wide to narrow. */
static const struct {
	uint32_t type;
	const char *name;
} types[] = {
	{ GGML_F32, "types/f32" },	 { GGML_F16, "types/f16" },
	{ GGML_BF16, "types/bf16" },	 { GGML_Q8_0, "types/q8_0" },
	{ GGML_Q6_K, "types/q6_k" },	 { GGML_Q5_K, "types/q5_k" },
	{ GGML_Q5_1, "types/q5_1" },	 { GGML_Q5_0, "types/q5_0" },
	{ GGML_Q4_K, "types/q4_k" },	 { GGML_Q4_1, "types/q4_1" },
	{ GGML_Q4_0, "types/q4_0" },	 { GGML_IQ4_NL, "types/iq4_nl" },
	{ GGML_IQ4_XS, "types/iq4_xs" }, { GGML_NVFP4, "types/nvfp4" },
	{ GGML_MXFP4, "types/mxfp4" },	 { GGML_Q3_K, "types/q3_k" },
	{ GGML_IQ3_S, "types/iq3_s" },	 { GGML_IQ3_XXS, "types/iq3_xxs" },
	{ GGML_Q2_K, "types/q2_k" },	 { GGML_Q2_0, "types/q2_0" },
	{ GGML_TQ2_0, "types/tq2_0" },	 { GGML_IQ1_M, "types/iq1_m" },
	{ GGML_TQ1_0, "types/tq1_0" },	 { GGML_Q1_0, "types/q1_0" },
};

#define N_TYPES ORGAN_VIEW_TYPE_COUNT
_Static_assert(sizeof(types) / sizeof(types[0]) == N_TYPES, "each type is counted");

uint32_t organ_view_type_number(enum organ_view form)
{
	for (uint32_t i = 0; i < N_TYPES; i++)
		if (form == ORGAN_VIEW_TYPES + 1 + types[i].type)
			return i;
	return UINT32_MAX;
}

static uint32_t type_of(enum organ_view form)
{
	return form - ORGAN_VIEW_TYPES - 1;
}

bool organ_view_of_type(uint64_t i, enum organ_view *form)
{
	if (i < N_TYPES)
		*form = ORGAN_VIEW_TYPES + 1 + types[i].type;
	return i < N_TYPES;
}

const char *organ_view_name(enum organ_view form)
{
	const uint32_t i = organ_view_type_number(form);

	if (form < ORGAN_VIEWS)
		return forms[form].name;
	return i == UINT32_MAX ? NULL : types[i].name;
}

bool organ_view_find(const char *name, enum organ_view *form)
{
	for (*form = 0; *form < ORGAN_VIEWS; ++*form)
		if (strcmp(forms[*form].name, name) == 0)
			return true;
	for (uint64_t i = 0; organ_view_of_type(i, form); i++)
		if (strcmp(types[i].name, name) == 0)
			return true;
	return false;
}

const char *organ_view_suffix(enum organ_view form)
{
	return form < ORGAN_VIEWS ? forms[form].suffix : ".bin";
}

bool organ_view_is_organ(enum organ_view form)
{
	return form == ORGAN_VIEW_SPECTRAL || form == ORGAN_VIEW_FRACTAL || form > ORGAN_VIEW_TYPES;
}

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

bool organ_view_exists(enum organ_view form, const struct organ *organ,
		       const struct importance_matrix *importance)
{
	uint64_t size;

	if (form == ORGAN_VIEW_NPY)
		return npy_supports(organ->type) && npy_size(organ, &size);
	if (form > ORGAN_VIEW_TYPES)
		return requantised_exists(organ, type_of(form), importance);
	return form != ORGAN_VIEW_EXPERTS || expert_slice_count(organ) > 0;
}

struct organ organ_view_organ(enum organ_view form, const struct organ *organ)
{
	if (form > ORGAN_VIEW_TYPES)
		return requantised_organ(organ, type_of(form));
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

struct view *organ_view_new(enum organ_view form, const struct organ_location *located,
			    struct importance_matrix *importance)
{
	if (form == ORGAN_VIEW_NPY)
		return npy_view(located);
	if (form == ORGAN_VIEW_SPECTRAL)
		return purified_view(PURIFIER_SPECTRAL, located);
	if (form == ORGAN_VIEW_FRACTAL)
		return purified_view(PURIFIER_FRACTAL, located);
	if (form > ORGAN_VIEW_TYPES)
		return requantised_view(located, type_of(form), importance);
	return organ_location_view(located);
}
