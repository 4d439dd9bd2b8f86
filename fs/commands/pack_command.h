/* SPDX-License-Identifier: MIT */
/* pack_command.h - organfs --pack and --quantise: a model assembled without a mount, such as a
 * directory of organ files, as it is or in chosen types. */
#ifndef FS_COMMANDS_PACK_COMMAND_H
#define FS_COMMANDS_PACK_COMMAND_H

struct options;

/* Write the one model of options, with the grafts of its layer= if given, to options->mountpoint,
 * a name as for .assemble. If options has a file of types, they are chosen first
 * (quantise_types.h). A line on stderr reports the result; after a failure the file is unchanged.
 * Returns an exit status. */
int pack_command(const struct options *options);

#endif
