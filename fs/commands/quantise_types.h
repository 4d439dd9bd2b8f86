/* SPDX-License-Identifier: MIT */
/* quantise_types.h - the types of ggml in which organfs --quantise writes a model: lines as .types
 * of a mount takes them (type_lines.h), from a file. */
#ifndef FS_COMMANDS_QUANTISE_TYPES_H
#define FS_COMMANDS_QUANTISE_TYPES_H

struct model;
struct options;

/* Put the matrix of options->imatrix in force, if there is one, and choose the types that the lines
 * of options->types name, "-" for standard input, for a model that is opened to be read. Returns 0,
 * or -1 after a line on stderr: a file cannot be read, the matrix is none for the model, or
 * type_edit_write() refuses a line; then no type is chosen. */
int quantise_types(struct model *model, const struct options *options);

#endif
