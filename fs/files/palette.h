/* SPDX-License-Identifier: MIT */
/* palette.h - the colours of pictures of θ, in a browser and in a terminal. */
#ifndef FS_FILES_PALETTE_H
#define FS_FILES_PALETTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rgb {
	uint8_t red, green, blue;
};

/* "#rrggbb" */
#define COLOUR_MAX 8
const char *rgb_text(char out[COLOUR_MAX], struct rgb rgb);

/* Diverging steps from the lowest (blue) over 0 (grey) to the highest (orange). Blue and orange
 * stay apart for eyes that lack a kind of cone, and lightness tells how far a step is from 0:
 * darker on a light ground, lighter on a dark one. */
#define PALETTE_STEPS 6
struct rgb palette_step(int step, bool dark);

/* The angle in [0, 90] degrees itself: Viridis. */
#define PALETTE_STOPS 10
struct rgb palette_angle(double theta);

/* The donors of grafts. The last colour is grey, for all that come after, and for unknown ones. */
#define PALETTE_DONORS 6
struct rgb palette_donor(size_t i);

/* Black or white, whichever is read better on that ground: the contrast is 4.5 at least. */
struct rgb palette_ink(struct rgb ground);

/* Relative luminance in [0, 1] (WCAG 2.1). */
double palette_luminance(struct rgb rgb);

/* The steps in the colours of terminals that know 256, and what colour such a number is: 16 to 231
 * are a cube, 232 to 255 greys (xterm, 256colres.pl). */
unsigned palette_step_xterm(int step, bool dark);
struct rgb palette_xterm(unsigned number);

#endif
