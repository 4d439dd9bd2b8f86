/* SPDX-License-Identifier: MIT */
/* lazy_text.h - a text with cells in it that show the Z-measure, the hash or the error in another
 * type of one organ each. A cell has a width that does not depend on its value, so the size of the
 * text is known before anything is measured, and a read measures only the organs whose cells it
 * touches. */
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

/* Prints one cell into text of n bytes, LAZY_TEXT_CELL_MAX at least, and returns its length. z is
 * NULL where the organ's type holds no values. The length is always the same. */
typedef int lazy_text_print_fn(char *text, size_t n, const struct zmeasure *z);

#define LAZY_TEXT_CELL_MAX 512 /* bytes of a cell, with a NUL */

struct lazy_text;

/* An empty text of cells of measures, of hashes, or of the errors in the type of that number
 * (organ_view_of_type()). Those are borrowed and outlive it. NULL: out of memory. */
struct lazy_text *lazy_text_new(struct memo *measures);
struct lazy_text *lazy_text_new_of_hashes(struct tensor_hashes *hashes, enum hash_kind kind);
struct lazy_text *lazy_text_new_of_losses(struct tensor_losses *losses, uint32_t type);

/* A text of measures: each cell that is added from now on, of a print function whose text ends with
 * a newline, has one more column: the mean weight that the importance matrix in force has for the
 * organ, by "%.9g" with blanks before it, "nan" for none or one that cannot be read. The model is
 * borrowed and outlives the text. False: no matrix is in force, and there is no column. */
bool lazy_text_weigh(struct lazy_text *cells, struct model *model);

/* Where to write what stands between the cells. Borrowed. */
FILE *lazy_text_stream(struct lazy_text *cells);

/* The next cell. Takes a reference of its own to the content. */
void lazy_text_add(struct lazy_text *cells, const struct subject *subject,
		   lazy_text_print_fn *print);

/* The same in a text of hashes. */
void lazy_text_add_hash(struct lazy_text *cells, const struct subject *subject);

/* The same in a text of errors: a number by "%.9g", with blanks before it, and a newline. */
void lazy_text_add_loss(struct lazy_text *cells, const struct subject *subject);

/* The last cell in a text of hashes, as wide as they: a text that becomes the cells', also on
 * failure. NULL: it could not be had. */
void lazy_text_add_whole(struct lazy_text *cells, struct whole_text *whole);

/* What belongs into the text cannot be had: there will be no view. */
void lazy_text_fail(struct lazy_text *cells);

/* The whole as a view, whose the cells become, also on failure. NULL: memory ran out, now or
 * before. */
struct view *lazy_text_view(struct lazy_text *cells);

#endif
