/* SPDX-License-Identifier: MIT */
/* zmeasures.c - see zmeasures.h. */
#include "tests/unit/zmeasures.h"

#include "gguf/dequant.h"
#include "gguf/types.h"

bool same_double(double a, double b)
{
	return memcmp(&a, &b, sizeof(a)) == 0 || (isnan(a) && isnan(b));
}

bool same_z(const struct zmeasure *a, const struct zmeasure *b)
{
	return a->status == b->status && a->elements == b->elements && a->sampled == b->sampled &&
	       a->nonfinite == b->nonfinite && a->low_n == b->low_n &&
	       a->has_magnitude == b->has_magnitude && same_double(a->entropy, b->entropy) &&
	       same_double(a->kurtosis, b->kurtosis) && same_double(a->spacing, b->spacing) &&
	       same_double(a->s_entropy, b->s_entropy) &&
	       same_double(a->s_kurtosis, b->s_kurtosis) &&
	       same_double(a->s_spacing, b->s_spacing) && same_double(a->signal, b->signal) &&
	       same_double(a->theta, b->theta) && same_double(a->magnitude, b->magnitude) &&
	       same_double(a->min, b->min) && same_double(a->max, b->max) &&
	       same_double(a->mean, b->mean) && same_double(a->deviation, b->deviation) &&
	       same_double(a->zeros, b->zeros);
}

void unit_assert_same_z(const struct zmeasure *a, const struct zmeasure *b, const char *file,
			int line)
{
	if (same_z(a, b))
		return;
	print_error("theta %.17g of %llu values, not %.17g of %llu\n", a->theta,
		    (unsigned long long)a->sampled, b->theta, (unsigned long long)b->sampled);
	_fail(file, line);
}

struct zmeasure z_of_values(const float *values, size_t n, uint64_t elements)
{
	void *scratch = malloc(zmeasure_scratch(n) + 1);
	struct zmeasure z;

	must(scratch);
	zmeasure(values, n, elements, scratch, &z);
	free(scratch);
	return z;
}

struct zmeasure z_of_blocks(uint32_t type, const void *bytes, uint64_t elements)
{
	float *values = malloc((elements + 1) * sizeof(*values));
	struct zmeasure z;

	must(values);
	dequant_blocks(type, bytes, elements / type_find(type)->block_elements, values);
	z = z_of_values(values, elements, elements);
	free(values);
	return z;
}

struct zmeasure z_with(double theta)
{
	return (struct zmeasure){ .status = ZMEASURE_OK,
				  .elements = 1000,
				  .sampled = 1000,
				  .entropy = 0.5,
				  .kurtosis = 2.5,
				  .spacing = 0.75,
				  .signal = sin(theta * M_PI / 180),
				  .theta = theta,
				  .magnitude = 0.25,
				  .has_magnitude = true,
				  .min = -1.5,
				  .max = 2,
				  .mean = 0.125,
				  .deviation = 0.75,
				  .zeros = 0.25 };
}

struct zmeasure z_nonfinite(void)
{
	return (struct zmeasure){ .status = ZMEASURE_NONFINITE,
				  .nonfinite = 3,
				  .sampled = 3,
				  .low_n = true,
				  .signal = (double)NAN,
				  .theta = (double)NAN,
				  .min = (double)NAN,
				  .max = (double)NAN,
				  .mean = (double)NAN,
				  .deviation = (double)NAN,
				  .zeros = (double)NAN };
}
