/* SPDX-License-Identifier: MIT */
/* quantise_types.h - the types of ggml in which organfs --quantise writes a model: lines as .types
 * of a mount takes them (type_lines.h), from a file. */
#ifndef FS_COMMANDS_QUANTISE_TYPES_H
#define FS_COMMANDS_QUANTISE_TYPES_H

struct model;

/* Choose the types that the lines of a file name, "-" for standard input, for a model that is
 * opened to be read. Returns 0, or -1 after a line on stderr: the file cannot be read, or
 * type_edit_write() refuses a line; then nothing is chosen. */
int quantise_types(struct model *model, const char *file);

#endif
