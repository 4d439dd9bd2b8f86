/* SPDX-License-Identifier: MIT */
/* quantise_types.h - the types in which organfs --quantise writes a model, from a file with the
 * lines of .types (type_lines.h). */
#ifndef FS_COMMANDS_QUANTISE_TYPES_H
#define FS_COMMANDS_QUANTISE_TYPES_H

struct model;
struct options;

/* Put the importance matrix of options->imatrix in force, if given, and choose the types by the
 * lines of options->types ("-": standard input), for a model opened read-only. Returns 0, or -1
 * after a line on stderr, and then chooses no type: a file cannot be read, the matrix does not fit
 * the model, or type_edit_write() refuses a line. */
int quantise_types(struct model *model, const struct options *options);

#endif
