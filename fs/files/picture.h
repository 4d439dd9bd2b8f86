/* SPDX-License-Identifier: MIT */
/* picture.h - theta.svg: the drawing of a grid (picture_grid.h). A cell's colour is the deviation
 * of the tensor's angle from its row's median, the number is the angle, and marks show changes. */
#ifndef FS_FILES_PICTURE_H
#define FS_FILES_PICTURE_H

#include "fs/lazy/lazy_report.h"

struct picture_grid;

/* Print the picture of a mounted model, or of two side by side. */
lazy_report_print_fn picture_print;
int picture_print_two(const struct figures *firsts, const struct figures *seconds, FILE *out);

/* All pointers are borrowed. Texts may hold any bytes; those not allowed in XML become U+FFFD. */
struct picture_model {
	const char *name;
	const char *subtitle; /* "llama, blocks 0-23, 290 tensors"; may be "" */
	const struct figures *figures;
};

struct picture {
	struct picture_model models[2];
	size_t n; /* 1, or 2 to show them side by side with their difference */
};

/* Print the picture. Its length in bytes does not depend on the figures' z, which may be NULL.
 * Returns 0 or -ENOMEM, also if out has failed. */
int picture_draw(const struct picture *picture, FILE *out);

/* "θ mean 45.98° over 290 tensors, ...", of the same length for any values. */
#define PICTURE_MEANS 160
void picture_means(const struct figures *figures, char text[PICTURE_MEANS]);

/* "llama, blocks 0-23, 290 tensors": architecture, blocks that have tensors, number of tensors. */
#define PICTURE_SUBTITLE 256
void picture_subtitle(const struct figures *figures, const struct picture_grid *grid,
		      char text[PICTURE_SUBTITLE]);

#endif
