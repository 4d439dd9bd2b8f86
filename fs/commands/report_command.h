/* SPDX-License-Identifier: MIT */
/* report_command.h - organfs --report: makes the report of a mount from copies of .table. */
#ifndef FS_COMMANDS_REPORT_COMMAND_H
#define FS_COMMANDS_REPORT_COMMAND_H

struct options;

/* Print the report of options->report_model, or if that is NULL of the one model, or the ranking of
 * several, of which options->models are the tables: as text, or with options->json as .report.json
 * has it. A line on stderr says the error of a file, and nothing is printed. Returns an exit
 * status. */
int report_command(const struct options *options);

#endif
