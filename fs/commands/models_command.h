/* SPDX-License-Identifier: MIT */
/* models_command.h - organfs --models: lists the models in the stores of other programs, by the
 * names that organfs accepts as a MODEL. */
#ifndef FS_COMMANDS_MODELS_COMMAND_H
#define FS_COMMANDS_MODELS_COMMAND_H

struct options;

/* Print the name and the size in bytes of each model: in columns on a terminal, else separated by a
 * tab, or as a JSON array with options->json. For a damaged model a line on stderr says the reason.
 * Returns an exit status. */
int models_command(const struct options *options);

#endif
