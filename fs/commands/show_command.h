/* SPDX-License-Identifier: MIT */
/* show_command.h - organfs --show: the picture of a model in a terminal, with the verdict and the
 * grafts; organfs --picture: theta.svg as a mount would show it, without one, as in the sandbox of
 * a thumbnailer. */
#ifndef FS_COMMANDS_SHOW_COMMAND_H
#define FS_COMMANDS_SHOW_COMMAND_H

struct options;

/* Show the model that options names, which are as options_parse() fills them for it: a GGUF, or in
 * a mount the directory of a model, one of its classes, or a root with several. What is wrong is
 * said in a line on stderr. Returns an exit status. */
int show_command(const struct options *options);

/* Print the picture of the one model or the two that options names, which are as options_parse()
 * fills them for it. What is wrong is said in a line on stderr, and nothing is printed. Returns an
 * exit status. */
int picture_command(const struct options *options);

#endif
