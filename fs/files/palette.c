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

static struct rgb rgb_of(uint32_t hex)
{
	return (struct rgb){ (uint8_t)(hex >> 16), (uint8_t)(hex >> 8), (uint8_t)hex };
}

struct rgb palette_step(int step, bool dark)
{
	/* Indexed by ground (light, dark), side (below, above) and distance. */
	static const uint32_t steps[2][2][PALETTE_STEPS + 1] = {
		{ { 0xf1f1f1, 0xdfeaf5, 0xc3dbf0, 0x97c6e6, 0x5fa8d8, 0x2f7fbd, 0x0b4f96 },
		  { 0xf1f1f1, 0xfdebd8, 0xfdd6ae, 0xfdb676, 0xf5913f, 0xd9650f, 0x9c3a02 } },
		{ { 0x2c2f33, 0x263a4e, 0x22486c, 0x225b92, 0x2f79bf, 0x5aa0e2, 0x9ccbff },
		  { 0x2c2f33, 0x473829, 0x624322, 0x88541c, 0xb66c1e, 0xe28c3c, 0xffbf7e } },
	};
	const int distance = abs(step) < PALETTE_STEPS ? abs(step) : PALETTE_STEPS;

	return rgb_of(steps[dark][step > 0][distance]);
}

/* Viridis (van der Walt, Smith 2015): lightness rises evenly, also for red-green blind eyes. */
struct rgb palette_angle(double theta)
{
	static const uint32_t stops[PALETTE_STOPS] = { 0x440154, 0x482878, 0x3e4989, 0x31688e,
						       0x26828e, 0x1f9e89, 0x35b779, 0x6ece58,
						       0xb5de2b, 0xfde725 };
	const double place = fmin(fmax(theta, 0.0), 90.0) / 90.0 * (PALETTE_STOPS - 1);
	const size_t low = place < PALETTE_STOPS - 2 ? (size_t)place : PALETTE_STOPS - 2;
	const double high = place - (double)low;
	const struct rgb a = rgb_of(stops[low]), b = rgb_of(stops[low + 1]);

	return (struct rgb){
		.red = (uint8_t)lround(a.red + high * (b.red - a.red)),
		.green = (uint8_t)lround(a.green + high * (b.green - a.green)),
		.blue = (uint8_t)lround(a.blue + high * (b.blue - a.blue)),
	};
}

/* No blue and no orange, which are the colours of the steps. */
struct rgb palette_donor(size_t i)
{
	static const uint32_t donors[PALETTE_DONORS] = { 0xc01f8a, 0x0a8f5b, 0xe3c800,
							 0x7a3cc9, 0x00b8b8, 0x808080 };

	return rgb_of(donors[i < PALETTE_DONORS ? i : PALETTE_DONORS - 1]);
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
