/* SPDX-License-Identifier: MIT */
/* unpack_command.h - organfs --unpack: writes a model as a directory of organ files, like `cp -r`
 * of a mount: header.gguf, an organ file for each tensor in the directory of its class,
 * manifest.json and checksums.xxh128; with --theta also CLASS/NAME.theta and CLASS/.theta. The
 * other files of a mount's root, such as model.gguf, can be made from these and are not written.
 *
 * 1. Each file is written by atomic rename (atomic_write.h), so an interrupted command leaves no
 *    incomplete file. One sync at the end makes all files durable.
 * 2. header.gguf is written first, and identifies the directory as this model's.
 * 3. An existing file is compared byte for byte. A file with the same bytes is kept, so that a
 *    second run continues an interrupted one; a different file, such as a graft, is replaced only
 *    with -f. */
#ifndef FS_COMMANDS_UNPACK_COMMAND_H
#define FS_COMMANDS_UNPACK_COMMAND_H

struct options;

/* Write the one model of options, with the grafts of its layer= if given, into the directory
 * options->mountpoint, which is created if it is missing. A line on stderr reports the result.
 * Returns an exit status. */
int unpack_command(const struct options *options);

#endif
