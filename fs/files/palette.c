/* SPDX-License-Identifier: MIT */
/* palette.c - see palette.h. */
#include "fs/files/palette.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char *rgb_text(char out[COLOUR_MAX], struct rgb rgb)
{
	snprintf(out, COLOUR_MAX, "#%02x%02x%02x", rgb.red, rgb.green, rgb.blue);
	return out;
}

struct rgb palette_step(int step, bool dark)
{
	/* By ground, by side (below, above), by distance. */
	static const struct rgb steps[2][2][PALETTE_STEPS + 1] = {
		{ { { 0xf1, 0xf1, 0xf1 },
		    { 0xdf, 0xea, 0xf5 },
		    { 0xc3, 0xdb, 0xf0 },
		    { 0x97, 0xc6, 0xe6 },
		    { 0x5f, 0xa8, 0xd8 },
		    { 0x2f, 0x7f, 0xbd },
		    { 0x0b, 0x4f, 0x96 } },
		  { { 0xf1, 0xf1, 0xf1 },
		    { 0xfd, 0xeb, 0xd8 },
		    { 0xfd, 0xd6, 0xae },
		    { 0xfd, 0xb6, 0x76 },
		    { 0xf5, 0x91, 0x3f },
		    { 0xd9, 0x65, 0x0f },
		    { 0x9c, 0x3a, 0x02 } } },
		{ { { 0x2c, 0x2f, 0x33 },
		    { 0x26, 0x3a, 0x4e },
		    { 0x22, 0x48, 0x6c },
		    { 0x22, 0x5b, 0x92 },
		    { 0x2f, 0x79, 0xbf },
		    { 0x5a, 0xa0, 0xe2 },
		    { 0x9c, 0xcb, 0xff } },
		  { { 0x2c, 0x2f, 0x33 },
		    { 0x47, 0x38, 0x29 },
		    { 0x62, 0x43, 0x22 },
		    { 0x88, 0x54, 0x1c },
		    { 0xb6, 0x6c, 0x1e },
		    { 0xe2, 0x8c, 0x3c },
		    { 0xff, 0xbf, 0x7e } } },
	};
	const int distance = abs(step) < PALETTE_STEPS ? abs(step) : PALETTE_STEPS;

	return steps[dark][step > 0][distance];
}

/* Viridis (van der Walt, Smith 2015): lightness rises evenly, also for eyes that do not tell red
 * from green. */
struct rgb palette_angle(double theta)
{
	static const struct rgb stops[PALETTE_STOPS] = {
		{ 0x44, 0x01, 0x54 }, { 0x48, 0x28, 0x78 }, { 0x3e, 0x49, 0x89 },
		{ 0x31, 0x68, 0x8e }, { 0x26, 0x82, 0x8e }, { 0x1f, 0x9e, 0x89 },
		{ 0x35, 0xb7, 0x79 }, { 0x6e, 0xce, 0x58 }, { 0xb5, 0xde, 0x2b },
		{ 0xfd, 0xe7, 0x25 },
	};
	const double place = fmin(fmax(theta, 0.0), 90.0) / 90.0 * (PALETTE_STOPS - 1);
	const size_t low = place < PALETTE_STOPS - 2 ? (size_t)place : PALETTE_STOPS - 2;
	const double high = place - (double)low;
	const struct rgb *a = &stops[low], *b = &stops[low + 1];

	return (struct rgb){
		.red = (uint8_t)lround(a->red + high * (b->red - a->red)),
		.green = (uint8_t)lround(a->green + high * (b->green - a->green)),
		.blue = (uint8_t)lround(a->blue + high * (b->blue - a->blue)),
	};
}

/* No blue and no orange, which are those of the steps. */
struct rgb palette_donor(size_t i)
{
	static const struct rgb donors[PALETTE_DONORS] = {
		{ 0xc0, 0x1f, 0x8a }, { 0x0a, 0x8f, 0x5b }, { 0xe3, 0xc8, 0x00 },
		{ 0x7a, 0x3c, 0xc9 }, { 0x00, 0xb8, 0xb8 }, { 0x80, 0x80, 0x80 },
	};

	return donors[i < PALETTE_DONORS ? i : PALETTE_DONORS - 1];
}

static double linear(uint8_t value)
{
	const double share = value / 255.0;

	return share <= 0.04045 ? share / 12.92 : pow((share + 0.055) / 1.055, 2.4);
}

double palette_luminance(struct rgb rgb)
{
	return 0.2126 * linear(rgb.red) + 0.7152 * linear(rgb.green) + 0.0722 * linear(rgb.blue);
}

struct rgb palette_ink(struct rgb ground)
{
	/* (1 + 0.05) / (L + 0.05) = (L + 0.05) / 0.05 */
	return palette_luminance(ground) < 0.179 ? (struct rgb){ 255, 255, 255 }
						 : (struct rgb){ 0, 0, 0 };
}

unsigned palette_step_xterm(int step, bool dark)
{
	static const uint8_t steps[2][2][PALETTE_STEPS + 1] = {
		{ { 255, 195, 153, 117, 74, 25, 18 }, { 255, 230, 223, 215, 208, 166, 88 } },
		{ { 236, 17, 24, 25, 32, 75, 153 }, { 236, 52, 94, 130, 172, 215, 223 } },
	};
	const int distance = abs(step) < PALETTE_STEPS ? abs(step) : PALETTE_STEPS;

	return steps[dark][step > 0][distance];
}

struct rgb palette_xterm(unsigned number)
{
	static const uint8_t levels[] = { 0, 95, 135, 175, 215, 255 };
	const uint8_t grey = (uint8_t)(8 + 10 * (number - 232));

	if (number >= 232)
		return (struct rgb){ grey, grey, grey };
	number = number < 16 ? 0 : number - 16;
	return (struct rgb){ levels[number / 36], levels[number / 6 % 6], levels[number % 6] };
}
