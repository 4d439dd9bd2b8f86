/* SPDX-License-Identifier: MIT */
/* diff_command.h - organfs --diff: compares two models without a mount. */
#ifndef FS_COMMANDS_DIFF_COMMAND_H
#define FS_COMMANDS_DIFF_COMMAND_H

struct options;

/* Print the differences between the two models of options, which options_parse() has filled for
 * --diff. After an error, only a line on stderr is printed. Returns an exit status. */
int diff_command(const struct options *options);

#endif
