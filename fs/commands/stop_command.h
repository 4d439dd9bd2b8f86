/* SPDX-License-Identifier: MIT */
/* stop_command.h - organfs --stop: executes organfs-umount, which is installed beside organfs. */
#ifndef FS_COMMANDS_STOP_COMMAND_H
#define FS_COMMANDS_STOP_COMMAND_H

/* If the command line has --stop, execute organfs-umount with the other arguments. Returns -1
 * without --stop, or the exit status after a line on stderr. argv is changed. */
int stop_command(int argc, char **argv);

#endif
