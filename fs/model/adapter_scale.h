/* SPDX-License-Identifier: MIT */
/* adapter_scale.h - factor of an adapter, as the text of its file .scale:
 *
 *	0.5			one factor for all blocks
 *	0 0.5 1 0.5		a gradient over the blocks of the base (merge_gradient())
 *	[0, 0.5, 1, 0.5]	the same gradient in the syntax of mergekit
 *	1 norm=keep		a control vector that keeps the norms of the vectors it changes */
#ifndef FS_MODEL_ADAPTER_SCALE_H
#define FS_MODEL_ADAPTER_SCALE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

#define ADAPTER_SCALE_NUMBERS 32

struct adapter_scale {
	uint32_t n;			       /* at least one */
	double numbers[ADAPTER_SCALE_NUMBERS]; /* finite, rounded to F32 */
	bool keeps_norm;
};

/* Parse a text of n bytes. Returns 0, or -EINVAL with err set; err->offset is the first wrong
 * byte. */
int adapter_scale_parse(const char *text, size_t n, struct adapter_scale *scale, struct error *err);

/* Print the scale as a line, from which adapter_scale_parse() reads the same scale. Returns the
 * length with the line break, without the NUL. */
#define ADAPTER_TEXT_MAX (17 * ADAPTER_SCALE_NUMBERS + 16)
size_t adapter_scale_print(const struct adapter_scale *scale, char text[ADAPTER_TEXT_MAX]);

/* Whether any of the numbers differs from 0. */
bool adapter_scale_applies(const struct adapter_scale *scale);

#endif
