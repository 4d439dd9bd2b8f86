/* SPDX-License-Identifier: MIT */
/* picture.h - θ of a model as a picture in SVG: blocks across, the roles of tensors down, grouped
 * by class, a coloured cell for each tensor; beside them the tensors outside of blocks. */
#ifndef FS_PICTURE_H
#define FS_PICTURE_H

#include "fs/figures.h"

#include <stdio.h>

/* All borrowed. */
struct picture {
	const char *name;     /* of the model, in UTF-8 */
	const char *subtitle; /* what it is, in UTF-8 */
	size_t n;
	const struct figure *figures; /* in file order */
};

/* Print the picture. Its length in bytes does not depend on the z of the figures, NULL or not.
 * Returns 0 or -ENOMEM. */
int picture_print(const struct picture *picture, FILE *out);

#endif
