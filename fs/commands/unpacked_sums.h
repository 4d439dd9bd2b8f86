/* SPDX-License-Identifier: MIT */
/* unpacked_sums.h - finds the organ files that were replaced since organfs --unpack wrote a
 * directory, by its checksums.xxh128. */
#ifndef FS_COMMANDS_UNPACKED_SUMS_H
#define FS_COMMANDS_UNPACKED_SUMS_H

#include <stdbool.h>

struct offline_tree;

/* Compare the organs of a model that is a directory with its checksums.xxh128: (*unchanged)[slot]
 * tells whether the slot's organ has the recorded hash. Hashes all organs. *unchanged is to be
 * freed; it is NULL if there is no readable checksums.xxh128. Returns 0, or -1 after a line on
 * stderr. */
int unpacked_sums_compare(struct offline_tree *tree, bool **unchanged);

#endif
