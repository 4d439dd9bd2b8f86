/* SPDX-License-Identifier: MIT */
/* why_command.h - organfs --why: prints the messages of a mount's .log on a file in the mount. */
#ifndef FS_COMMANDS_WHY_COMMAND_H
#define FS_COMMANDS_WHY_COMMAND_H

struct options;

/* Print the lines of .log on the file at the path that options->models has, which need not exist,
 * or on all files below it. The exit status is 0 if there is a line, else 1, after a line on
 * stderr. */
int why_command(const struct options *options);

#endif
