/* SPDX-License-Identifier: MIT */
/* picture_command.h - organfs --picture: what theta.svg of a mount would show, without one, or two
 * models side by side. Where nothing can be mounted, as in the sandbox of a thumbnailer, that is
 * the way to it. */
#ifndef FS_PICTURE_COMMAND_H
#define FS_PICTURE_COMMAND_H

#include "fs/mount/options.h"

/* Print the picture of the one model or the two that options names, which are as options_parse()
 * fills them for it. What is wrong is said in a line on stderr, and nothing is printed. Returns an
 * exit status. */
int picture_command(const struct options *options);

#endif
