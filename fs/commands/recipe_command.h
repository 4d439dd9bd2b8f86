/* SPDX-License-Identifier: MIT */
/* recipe_command.h - organfs --recipe: the recipe that a model carries, by which a chain of
 * chimeras can be followed back. */
#ifndef FS_COMMANDS_RECIPE_COMMAND_H
#define FS_COMMANDS_RECIPE_COMMAND_H

struct options;

/* Print the recipe in the one file, a GGUF, that options names, which are as options_parse() fills
 * them for it. What is wrong is said in a line on stderr, and nothing is printed. Returns an exit
 * status. */
int recipe_command(const struct options *options);

#endif
