/* SPDX-License-Identifier: MIT */
/* check_command.h - organfs --check: .check of a model, printed without a mount. */
#ifndef FS_COMMANDS_CHECK_COMMAND_H
#define FS_COMMANDS_CHECK_COMMAND_H

struct options;

/* Print .check of the first model that options names, with the grafts of its layer= if that is
 * given; with options->json as an array of objects. The other models are possible donors of grafts
 * without a record (check_origin.h, unpacked_sums.h). Returns an exit status: 1 if
 * the verdict is impossible, or after a line on stderr. */
int check_command(const struct options *options);

#endif
