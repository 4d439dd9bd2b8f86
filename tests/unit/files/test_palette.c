/* SPDX-License-Identifier: MIT */
/* test_palette.c - fs/files/palette.c: numbers are legible on every colour, and colour-blind
 * readers can tell the two sides of a median apart. */
#include "fs/files/palette.h"
#include "tests/unit/unit.h"

#include <math.h>

static double contrast(struct rgb a, struct rgb b)
{
	const double left = palette_luminance(a), right = palette_luminance(b);

	return (fmax(left, right) + 0.05) / (fmin(left, right) + 0.05);
}

static void numbers_are_read_on_every_colour(void **state)
{
	(void)state;
	for (int step = -PALETTE_STEPS; step <= PALETTE_STEPS; step++)
		for (int dark = 0; dark < 2; dark++) {
			const struct rgb ground = palette_step(step, dark);

			assert_true(contrast(ground, palette_ink(ground)) >= 4.5);
		}
	for (int theta = 0; theta <= 90; theta++) {
		const struct rgb ground = palette_angle(theta);

		assert_true(contrast(ground, palette_ink(ground)) >= 4.5);
	}
}

static void steps_are_monotonic_from_the_middle(void **state)
{
	(void)state;
	for (int side = -1; side <= 1; side += 2)
		for (int step = 1; step < PALETTE_STEPS; step++) {
			const double here = palette_luminance(palette_step(side * step, false));
			const double next =
				palette_luminance(palette_step(side * (step + 1), false));

			assert_true(next < here);
			assert_true(palette_luminance(palette_step(side * (step + 1), true)) >
				    palette_luminance(palette_step(side * step, true)));
		}
	assert_int_equal(palette_step(100, false).red, palette_step(PALETTE_STEPS, false).red);
}

static double linear(uint8_t value)
{
	const double share = value / 255.0;

	return share <= 0.04045 ? share / 12.92 : pow((share + 0.055) / 1.055, 2.4);
}

static double lightness(double share)
{
	return share > 0.008856 ? cbrt(share) : 7.787 * share + 16 / 116.0;
}

/* CIE L*a*b* of a colour seen through that matrix over linear RGB. */
static void seen(const double matrix[3][3], struct rgb rgb, double lab[3])
{
	const double in[3] = { linear(rgb.red), linear(rgb.green), linear(rgb.blue) };
	double out[3], x, y, z;

	for (int i = 0; i < 3; i++)
		out[i] = fmin(fmax(matrix[i][0] * in[0] + matrix[i][1] * in[1] +
					   matrix[i][2] * in[2],
				   0.0),
			      1.0);
	x = lightness((0.4124 * out[0] + 0.3576 * out[1] + 0.1805 * out[2]) / 0.95047);
	y = lightness(0.2126 * out[0] + 0.7152 * out[1] + 0.0722 * out[2]);
	z = lightness((0.0193 * out[0] + 0.1192 * out[1] + 0.9505 * out[2]) / 1.08883);
	lab[0] = 116 * y - 16;
	lab[1] = 500 * (x - y);
	lab[2] = 200 * (y - z);
}

static double apart(const double matrix[3][3], struct rgb a, struct rgb b)
{
	double left[3], right[3];

	seen(matrix, a, left);
	seen(matrix, b, right);
	return sqrt(pow(left[0] - right[0], 2) + pow(left[1] - right[1], 2) +
		    pow(left[2] - right[2], 2));
}

/* Matrices of dichromats (Machado, Oliveira, Fernandes 2009, severity 1.0). */
static void blue_and_orange_stay_apart_without_a_kind_of_cone(void **state)
{
	static const double eyes[][3][3] = {
		{ { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } },
		{ { 0.152286, 1.052583, -0.204868 },
		  { 0.114503, 0.786281, 0.099216 },
		  { -0.003882, -0.048116, 1.051998 } },
		{ { 0.367322, 0.860646, -0.227968 },
		  { 0.280085, 0.672501, 0.047413 },
		  { -0.011820, 0.042940, 0.968881 } },
		{ { 1.255528, -0.076749, -0.178779 },
		  { -0.078411, 0.930809, 0.147602 },
		  { 0.004733, 0.691367, 0.303900 } },
	};

	(void)state;
	for (size_t eye = 0; eye < ARRAY_LENGTH(eyes); eye++)
		for (int dark = 0; dark < 2; dark++) {
			const struct rgb middle = palette_step(0, dark);

			for (int step = 2; step <= PALETTE_STEPS; step++) {
				const struct rgb low = palette_step(-step, dark);
				const struct rgb high = palette_step(step, dark);

				/* A difference of 10 is visible at a glance. */
				assert_true(apart(eyes[eye], low, high) > 30);
				assert_true(apart(eyes[eye], low, middle) > 10);
				assert_true(apart(eyes[eye], high, middle) > 10);
			}
		}
}

static void steps_of_256_colours_are_monotonic_too(void **state)
{
	(void)state;
	for (int dark = 0; dark < 2; dark++)
		for (int step = 2; step <= PALETTE_STEPS; step++) {
			const struct rgb low = palette_xterm(palette_step_xterm(-step, dark));
			const struct rgb high = palette_xterm(palette_step_xterm(step, dark));

			assert_true(low.blue > low.red);
			assert_true(high.red > high.blue);
			assert_true(contrast(low, palette_ink(low)) >= 4.5);
			assert_true(contrast(high, palette_ink(high)) >= 4.5);
		}
	assert_int_equal(palette_xterm(16).red, 0);
	assert_int_equal(palette_xterm(196).red, 255);
	assert_int_equal(palette_xterm(196).green, 0);
	assert_int_equal(palette_xterm(255).blue, 238);
}

UNIT_MAIN(NULL, NULL)
