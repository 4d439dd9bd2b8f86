/* SPDX-License-Identifier: MIT */
/* tree_command.h - organfs --theta and --npy: one file of the tree, printed without a mount. */
#ifndef FS_COMMANDS_TREE_COMMAND_H
#define FS_COMMANDS_TREE_COMMAND_H

struct options;

/* Print .theta, or with options->json .report.json, of the one model that options names. Returns an
 * exit status; a line on stderr has the reason of a failure. */
int theta_command(const struct options *options);

/* Print .views/npy/CLASS/NAME.npy of the tensor options->mountpoint, which is the tensor's exact
 * name, or NAME of its file with or without the class and the suffix. Standard output is no
 * terminal. Returns as theta_command(). */
int npy_command(const struct options *options);

#endif
