/* SPDX-License-Identifier: MIT */
/* picture.h - theta.svg: the angle of every tensor as a coloured cell, blocks across, roles
 * down. */
#ifndef FS_PICTURE_H
#define FS_PICTURE_H

#include "fs/figures.h"

#include <stddef.h>
#include <stdio.h>

/* Everything is borrowed. Texts may hold any bytes: what XML cannot say stands as U+FFFD. */
struct picture {
	const char *name;     /* of the model */
	const char *subtitle; /* "llama, 24 blocks, 290 tensors"; may be "" */
	size_t n;
	const struct figure *figures; /* n of them, in file order */
};

/* Print the picture. Its length in bytes depends on everything but the figures' z: with z NULL, or
 * any values in them, it is the same to the byte. Returns 0 or -ENOMEM, also where out has
 * failed. */
int picture_print(const struct picture *picture, FILE *out);

#endif
