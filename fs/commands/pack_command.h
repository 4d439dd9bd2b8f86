/* SPDX-License-Identifier: MIT */
/* pack_command.h - organfs --pack and --quantise: a model assembled without a mount, such as a
 * directory of organ files, as it is or in chosen types. */
#ifndef FS_COMMANDS_PACK_COMMAND_H
#define FS_COMMANDS_PACK_COMMAND_H

struct options;

/* Write the one model that options names, with the grafts of its layer= where that is given, to
 * options->mountpoint, which is a name as .assemble takes it. If options names a file of types,
 * they are chosen first (quantise_types.h). A line on stderr says the outcome; if the command
 * fails, the file is as it was. Returns an exit status. */
int pack_command(const struct options *options);

#endif
