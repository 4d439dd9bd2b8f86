/* SPDX-License-Identifier: MIT */
/* model_picture.h - theta.svg: the picture of a mounted model, or of two. */
#ifndef FS_FILES_MODEL_PICTURE_H
#define FS_FILES_MODEL_PICTURE_H

#include "fs/files/picture_grid.h"
#include "fs/lazy/lazy_report.h"

lazy_report_print_fn model_picture_print;

/* Of two models side by side. Returns as model_picture_print(). */
int model_picture_print_two(const struct figures *firsts, const struct figures *seconds, FILE *out);

/* "llama, blocks 0-23, 290 tensors": the blocks that are there. */
#define MODEL_PICTURE_SUBTITLE_MAX 256
void model_picture_subtitle(const struct figures *figures, const struct picture_grid *grid,
			    char text[MODEL_PICTURE_SUBTITLE_MAX]);

#endif
