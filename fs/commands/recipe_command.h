/* SPDX-License-Identifier: MIT */
/* recipe_command.h - organfs --recipe: prints the recipe that a model carries, so that a chain of
 * chimeras can be traced back. */
#ifndef FS_COMMANDS_RECIPE_COMMAND_H
#define FS_COMMANDS_RECIPE_COMMAND_H

struct options;

/* Print the recipe in the GGUF of options, which options_parse() has filled for --recipe. After an
 * error, only a line on stderr is printed. Returns an exit status. */
int recipe_command(const struct options *options);

#endif
