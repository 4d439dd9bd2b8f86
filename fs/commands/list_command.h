/* SPDX-License-Identifier: MIT */
/* list_command.h - organfs --list: the user's mounts in this mount namespace; for root all
 * mounts. */
#ifndef FS_COMMANDS_LIST_COMMAND_H
#define FS_COMMANDS_LIST_COMMAND_H

struct options;

/* Print a line for each mount, as a table or with options->json as one JSON array. All daemons are
 * asked at once, for a second and a half. Returns the exit status. */
int list_command(const struct options *options);

#endif
