/* SPDX-License-Identifier: MIT */
/* chart.h - theta.svg: the picture of a mounted model, or of two. */
#ifndef FS_CHART_H
#define FS_CHART_H

#include "fs/files/picture_grid.h"
#include "fs/lazy/lazy_report.h"

sheet_print chart_print;

/* Of two models side by side. Returns as chart_print(). */
int chart_print_two(const struct figures *firsts, const struct figures *seconds, FILE *out);

/* "llama, blocks 0-23, 290 tensors": the blocks that are there. */
#define CHART_SUBTITLE_MAX 256
void chart_subtitle(const struct figures *figures, const struct grid *grid,
		    char text[CHART_SUBTITLE_MAX]);

#endif
