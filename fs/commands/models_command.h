/* SPDX-License-Identifier: MIT */
/* models_command.h - organfs --models: the models that other programs have in their stores, by the
 * names that stand for a MODEL. */
#ifndef FS_COMMANDS_MODELS_COMMAND_H
#define FS_COMMANDS_MODELS_COMMAND_H

struct options;

/* Print a line for each, its name and its size in bytes, with a tab between them and on a terminal
 * in columns, or with options->json a JSON array of them. Of a damaged one a line on stderr says
 * the reason. Returns an exit status. */
int models_command(const struct options *options);

#endif
