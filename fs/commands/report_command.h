/* SPDX-License-Identifier: MIT */
/* report_command.h - organfs --report: what a mount of some models would show, of their tables. */
#ifndef FS_COMMANDS_REPORT_COMMAND_H
#define FS_COMMANDS_REPORT_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

/* Print the report of the model that n files of tables are of, or of the one of that name, or with
 * name NULL the ranking of several: as text, or as JSON as .report.json has it. What is wrong with
 * a file is said in a line on stderr, and nothing is printed. Returns an exit status. */
int report_command(const char *const *files, uint32_t n, const char *name, bool json);

#endif
