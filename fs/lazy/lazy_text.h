/* SPDX-License-Identifier: MIT */
/* lazy_text.h - a text with cells, each of which shows the Z-measure, the hash or the loss of one
 * organ. The width of a cell does not depend on its value, so the size of the text is known before
 * anything is computed, and a read computes only the cells that it touches. */
#ifndef FS_LAZY_LAZY_TEXT_H
#define FS_LAZY_LAZY_TEXT_H

#include "fs/model/slots.h"

#include <stdio.h>

struct memo;
struct model;
struct subject;
struct tensor_hashes;
struct tensor_losses;
struct view;
struct whole_text;

/* Print a cell into text, which has room for n >= LAZY_TEXT_CELL_MAX bytes, and return its length,
 * which is always the same. z is NULL if the organ's type has no values. */
typedef int lazy_text_print_fn(char *text, size_t n, const struct zmeasure *z);

#define LAZY_TEXT_CELL_MAX 512 /* bytes of a cell, including a NUL */

struct lazy_text;

/* An empty text of cells of measures, of hashes, or of losses in the type of that number
 * (organ_view_of_type()). The sources are borrowed and outlive the text. NULL: out of memory. */
struct lazy_text *lazy_text_new(struct memo *measures);
struct lazy_text *lazy_text_new_of_hashes(struct tensor_hashes *hashes, enum hash_kind kind);
struct lazy_text *lazy_text_new_of_losses(struct tensor_losses *losses, uint32_t type);

/* Add a column to all further cells of a text of measures, whose print function ends with a
 * newline: the organ's mean weight in the importance matrix in force, by "%.9g" right-aligned,
 * "nan" for none or an unreadable one. The model is borrowed and outlives the text. False: no
 * matrix is in force, and there is no column. */
bool lazy_text_add_weights(struct lazy_text *cells, struct model *model);

/* The stream for the text between cells. Borrowed. */
FILE *lazy_text_stream(struct lazy_text *cells);

/* Add a cell with the measure of a subject. Takes a reference to the content. */
void lazy_text_add(struct lazy_text *cells, const struct subject *subject,
		   lazy_text_print_fn *print);

/* Add a cell with a hash. */
void lazy_text_add_hash(struct lazy_text *cells, const struct subject *subject);

/* Add a cell with a loss: a number by "%.9g", right-aligned, and a newline. */
void lazy_text_add_loss(struct lazy_text *cells, const struct subject *subject);

/* Add the last cell of a text of hashes, a text of the same width that becomes the cells', also on
 * failure. NULL: out of memory. */
void lazy_text_add_whole(struct lazy_text *cells, struct whole_text *whole);

/* Note that a part of the text could not be made; lazy_text_view() then fails. */
void lazy_text_fail(struct lazy_text *cells);

/* The text as a view, which owns the cells, also on failure. NULL: no memory, or an earlier
 * failure. */
struct view *lazy_text_view(struct lazy_text *cells);

#endif
