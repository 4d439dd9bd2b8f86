/* SPDX-License-Identifier: MIT */
/* show_command.h - organfs --show: the picture of a model in a terminal, with the verdict and the
 * grafts. */
#ifndef FS_SHOW_COMMAND_H
#define FS_SHOW_COMMAND_H

#include "fs/mount/options.h"

/* Show the model that options names, which are as options_parse() fills them for it: a GGUF, or in
 * a mount the directory of a model, one of its classes, or a root with several. What is wrong is
 * said in a line on stderr. Returns an exit status. */
int show_command(const struct options *options);

#endif
