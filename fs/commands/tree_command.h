/* SPDX-License-Identifier: MIT */
/* tree_command.h - organfs --theta and --npy: one file of the tree, printed without a mount. */
#ifndef FS_COMMANDS_TREE_COMMAND_H
#define FS_COMMANDS_TREE_COMMAND_H

struct options;

/* Print .theta, or with options->json .report.json, of the one model of options. Returns an exit
 * status, after a failure with a line on stderr. */
int theta_command(const struct options *options);

/* Print .views/npy/CLASS/NAME.npy of the tensor options->mountpoint: the tensor's exact name, or
 * the NAME of its file with or without class and suffix. Refused if standard output is a terminal.
 * Returns as theta_command(). */
int npy_command(const struct options *options);

#endif
