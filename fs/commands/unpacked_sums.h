/* SPDX-License-Identifier: MIT */
/* unpacked_sums.h - the checksums.xxh128 that organfs --unpack left in a directory tells which of
 * its organ files were put in later. */
#ifndef FS_COMMANDS_UNPACKED_SUMS_H
#define FS_COMMANDS_UNPACKED_SUMS_H

#include <stdbool.h>

struct offline_tree;

/* For each slot of a model that is a directory with such a file: does the slot hold the organ that
 * has its line there? Hashes all organs. *unchanged is to be freed; NULL: the model has no such
 * file, or the file is none that can be read. Returns 0, or -1 after a line on stderr. */
int unpacked_sums_compare(struct offline_tree *tree, bool **unchanged);

#endif
