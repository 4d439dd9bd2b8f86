/* SPDX-License-Identifier: MIT */
/* test_difference.c - measure/difference.c: figures worked out by hand, and undefined ones. */
#include "measure/difference.h"
#include "tests/unit/unit.h"
#include "tests/unit/zinputs.h"

#include <float.h>
#include <math.h>

static struct difference of(const float *a, const float *b, size_t n)
{
	struct difference d = { 0 };

	difference_add(&d, a, b, n);
	return d;
}

static void figures_are_those_worked_out_by_hand(void **state)
{
	const float a[] = { 3, 4, 0, 0 }, b[] = { 3, 0, 4, -12 };
	const struct difference d = of(a, b, 4);

	(void)state;
	assert_int_equal(d.pairs, 4);
	assert_true(d.largest == 12);
	assert_true(difference_cosine(&d) == 9.0 / (5 * 13));
	assert_true(difference_relative(&d) == sqrt(16 + 16 + 144) / 5);
	assert_true(difference_average(&d) == 3000.0 / 26);
}

static void the_difference_of_equal_values_is_none(void **state)
{
	const float a[] = { 0.1f, -3, 1e30f }, zeros[3] = { 0 };
	struct difference d = of(a, a, 3);

	(void)state;
	assert_true(difference_cosine(&d) == 1);
	assert_true(difference_relative(&d) == 0 && difference_average(&d) == 0 && d.largest == 0);
	d = of(zeros, zeros, 3);
	assert_true(isnan(difference_cosine(&d)));
	assert_true(difference_relative(&d) == 0 && difference_average(&d) == 0);
}

static void the_relative_difference_is_that_to_the_first(void **state)
{
	const float a[] = { 1, 0 }, b[] = { 3, 0 }, zeros[2] = { 0 };
	struct difference d = of(a, b, 2);

	(void)state;
	assert_true(difference_relative(&d) == 2);
	d = of(b, a, 2);
	assert_true(difference_relative(&d) == 2.0 / 3);
	d = of(zeros, b, 2);
	assert_true(isinf(difference_relative(&d)) && isnan(difference_cosine(&d)));
	d = of(b, zeros, 2);
	assert_true(difference_relative(&d) == 1 && difference_average(&d) == 150);
}

static void opposite_values_have_the_cosine_minus_one(void **state)
{
	const float a[] = { 0.1f, 0.7f, -3 }, b[] = { -0.1f, -0.7f, 3 };
	const struct difference d = of(a, b, 3);

	(void)state;
	assert_true(difference_cosine(&d) == -1);
}

static void pairs_with_a_value_that_is_not_finite_are_left_out(void **state)
{
	const float a[] = { 1, NAN, 2, INFINITY, 5 }, b[] = { 1, 1, NAN, INFINITY, -INFINITY };
	const struct difference d = of(a, b, 5);

	(void)state;
	assert_int_equal(d.pairs, 1);
	assert_int_equal(d.nonfinite, 4);
	assert_true(difference_cosine(&d) == 1 && difference_relative(&d) == 0 && d.largest == 0);
}

static void the_largest_floats_are_finite_distances_apart(void **state)
{
	const float a[] = { FLT_MAX }, b[] = { -FLT_MAX };
	const struct difference d = of(a, b, 1);

	(void)state;
	assert_int_equal(d.nonfinite, 0);
	assert_true(d.largest == 2.0 * FLT_MAX && difference_relative(&d) == 2);
}

static void without_pairs_there_are_no_figures(void **state)
{
	const float a[] = { NAN };
	const struct difference d = of(a, a, 1), none = { 0 };

	(void)state;
	assert_true(isnan(difference_cosine(&none)) && isnan(difference_relative(&none)));
	assert_true(isnan(difference_average(&none)) && isnan(difference_relative(&d)));
}

static void pieces_come_to_the_same_as_the_whole(void **state)
{
	float *a = new_values(1000), *b = new_values(1000);
	struct difference whole, pieces = { 0 };
	uint32_t random = 1;

	(void)state;
	for (size_t i = 0; i < 1000; i++) {
		a[i] = (float)bell(&random);
		b[i] = a[i] + (float)bell(&random) / 8;
	}
	whole = of(a, b, 1000);
	for (size_t i = 0; i < 1000; i += 125)
		difference_add(&pieces, a + i, b + i, 125);
	assert_memory_equal(&whole, &pieces, sizeof(whole));
	assert_true(difference_relative(&whole) > 0.1 && difference_relative(&whole) < 0.15);
	free(b);
	free(a);
}

UNIT_MAIN(NULL, NULL)
