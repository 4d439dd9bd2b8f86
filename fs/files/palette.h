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

/* Diverging steps from the lowest (blue) over 0 (grey) to the highest (orange). Colour-blind eyes
 * distinguish blue and orange too, and lightness shows the distance from 0: darker on a light
 * ground, lighter on a dark one. */
#define PALETTE_STEPS 6
struct rgb palette_step(int step, bool dark);

/* Colour of an angle in [0, 90] degrees: Viridis. */
#define PALETTE_STOPS 10
struct rgb palette_angle(double theta);

/* Colours of the donors of grafts. The last one, grey, is for all further and unknown donors. */
#define PALETTE_DONORS 6
struct rgb palette_donor(size_t i);

/* Black or white, whichever has the higher contrast with the ground, at least 4.5. */
struct rgb palette_ink(struct rgb ground);

/* Relative luminance in [0, 1] (WCAG 2.1). */
double palette_luminance(struct rgb rgb);

/* The steps in the colours of terminals with 256, and the RGB of such a number: 16 to 231 are a
 * cube, 232 to 255 greys (xterm, 256colres.pl). */
unsigned palette_step_xterm(int step, bool dark);
struct rgb palette_xterm(unsigned number);

#endif
