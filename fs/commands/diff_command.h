/* SPDX-License-Identifier: MIT */
/* diff_command.h - organfs --diff: two models beside each other, without a mount. */
#ifndef FS_COMMANDS_DIFF_COMMAND_H
#define FS_COMMANDS_DIFF_COMMAND_H

struct options;

/* Print what differs between the two models that options names, which are as options_parse() fills
 * them for it: all or nothing. What is wrong is said in a line on stderr. Returns an exit
 * status. */
int diff_command(const struct options *options);

#endif
