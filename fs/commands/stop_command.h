/* SPDX-License-Identifier: MIT */
/* stop_command.h - organfs --stop: organfs-umount, which lies beside the program, does it. */
#ifndef FS_COMMANDS_STOP_COMMAND_H
#define FS_COMMANDS_STOP_COMMAND_H

/* If the command line has --stop, become organfs-umount with the other arguments. Returns -1 if
 * there is none, or the exit status after a line on stderr. argv is changed. */
int stop_command(int argc, char **argv);

#endif
