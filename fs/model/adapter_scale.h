/* SPDX-License-Identifier: MIT */
/* adapter_scale.h - what an adapter is multiplied by, as the text of its file .scale:
 *
 *	0.5			in every block
 *	0 0.5 1 0.5		a gradient over the blocks of the base (merge_gradient()), or
 *	[0, 0.5, 1, 0.5]	the same as mergekit writes it
 *	1 norm=keep		and the vectors that a control vector changes keep their lengths */
#ifndef FS_MODEL_ADAPTER_SCALE_H
#define FS_MODEL_ADAPTER_SCALE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

#define ADAPTER_SCALE_NUMBERS 32

struct adapter_scale {
	uint32_t n;			       /* at least one */
	double numbers[ADAPTER_SCALE_NUMBERS]; /* finite, and of the precision of F32 */
	bool keeps_norm;
};

/* Read a text of n bytes. Returns 0, or -EINVAL with err set; err->offset is where in the text. */
int adapter_scale_parse(const char *text, size_t n, struct adapter_scale *scale, struct error *err);

/* As a line that reads back the same, with its line break. Returns its length. */
#define ADAPTER_TEXT_MAX (17 * ADAPTER_SCALE_NUMBERS + 16)
size_t adapter_scale_print(const struct adapter_scale *scale, char text[ADAPTER_TEXT_MAX]);

/* Is any of the numbers other than 0? */
bool adapter_scale_applies(const struct adapter_scale *scale);

#endif
