/* SPDX-License-Identifier: MIT */
/* show_command.h - organfs --show: the picture of a model in a terminal, with the verdict and the
 * grafts; organfs --picture: theta.svg without a mount, for example in a thumbnailer's sandbox. */
#ifndef FS_COMMANDS_SHOW_COMMAND_H
#define FS_COMMANDS_SHOW_COMMAND_H

struct options;

/* Show the model of options, which options_parse() has filled for --show: a GGUF, or in a mount the
 * directory of a model, of one of its classes, or a root with several models. Returns an exit
 * status, after an error with a line on stderr. */
int show_command(const struct options *options);

/* Print the picture of the one or two models of options, which options_parse() has filled for
 * --picture. After an error, only a line on stderr is printed. Returns an exit status. */
int picture_command(const struct options *options);

#endif
