/* SPDX-License-Identifier: MIT */
/* unpack_command.h - organfs --unpack: a model as a directory of organ files, without a mount, as
 * `cp -r` of a mount would have it: header.gguf, an organ file for each tensor in the directory of
 * its class, manifest.json and checksums.xxh128; with --theta also CLASS/NAME.theta and
 * CLASS/.theta. model.gguf, theta.svg and the rest of a mount's root are made of these, and are not
 * written.
 *
 * 1. A file is written under another name and renamed when it is whole (atomic_write.h), so that a
 *    command that was interrupted leaves no part of a file under its name. All files together are
 *    made durable at the end.
 * 2. header.gguf comes first, and tells the model's tree from any other directory.
 * 3. A file that is there is compared byte for byte. One with the same bytes is left alone, so that
 *    the command goes on where it was interrupted; another one, as a graft, is replaced with -f
 *    alone. */
#ifndef FS_COMMANDS_UNPACK_COMMAND_H
#define FS_COMMANDS_UNPACK_COMMAND_H

struct options;

/* Write the one model that options names, with the grafts of its layer= if that is given, into the
 * directory options->mountpoint, which is made if it is missing. A line on stderr says the outcome.
 * Returns an exit status. */
int unpack_command(const struct options *options);

#endif
