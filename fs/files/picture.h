/* SPDX-License-Identifier: MIT */
/* picture.h - theta.svg: what a grid shows (picture_grid.h), drawn. Colour says how far a tensor's
 * angle is from its row's median, the number is the angle, marks say what was grafted. */
#ifndef FS_FILES_PICTURE_H
#define FS_FILES_PICTURE_H

#include "fs/lazy/lazy_report.h"

struct picture_grid;

/* Of a mounted model, or of two side by side. */
lazy_report_print_fn picture_print;
int picture_print_two(const struct figures *firsts, const struct figures *seconds, FILE *out);

/* Everything is borrowed. Texts may hold any bytes: what XML cannot say stands as U+FFFD. */
struct picture_model {
	const char *name;
	const char *subtitle; /* "llama, blocks 0-23, 290 tensors"; may be "" */
	const struct figures *figures;
};

struct picture {
	struct picture_model models[2];
	size_t n; /* 1, or 2 to show them side by side with their difference */
};

/* Print the picture. Its length in bytes depends on everything but the figures' z: with z NULL, or
 * any values in them, it is the same to the byte. Returns 0 or -ENOMEM, also where out has
 * failed. */
int picture_draw(const struct picture *picture, FILE *out);

/* "θ mean 45.98° over 290 tensors, ...", the same number of bytes for any values. */
#define PICTURE_MEANS 160
void picture_means(const struct figures *figures, char text[PICTURE_MEANS]);

/* "llama, blocks 0-23, 290 tensors": the blocks that are there. */
#define PICTURE_SUBTITLE 256
void picture_subtitle(const struct figures *figures, const struct picture_grid *grid,
		      char text[PICTURE_SUBTITLE]);

#endif
