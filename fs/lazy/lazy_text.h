/* SPDX-License-Identifier: MIT */
/* lazy_text.h - a text with cells in it that show the Z-measure of one organ each, or something
 * else that is found out of it. A cell has a width that does not depend on what it shows, so the
 * size of the text is known before anything is measured, and a read measures only the organs whose
 * cells it touches. */
#ifndef FS_LAZY_LAZY_TEXT_H
#define FS_LAZY_LAZY_TEXT_H

#include "fs/lazy/tensor_measures.h"
#include "fs/storage/view.h"

#include <stdio.h>

/* Prints one cell into text of n bytes, LAZY_TEXT_CELL_MAX at least, and returns its length. z is
 * NULL where the organ's type holds no values. The length is always the same. */
typedef int lazy_text_print_fn(char *text, size_t n, const struct zmeasure *z);

#define LAZY_TEXT_CELL_MAX 512 /* bytes of a cell, with a NUL */

struct lazy_text;

/* What cells show that are no Z-measures. Errors are -errno. */
struct lazy_text_source {
	/* These cells are about to be filled. */
	int (*prepare)(void *context, const struct subject *subjects, size_t n,
		       const atomic_bool *stop);
	/* All length bytes of one. */
	int (*fill)(void *context, const struct subject *subject, char *bytes, size_t length,
		    const atomic_bool *stop);
	void (*release)(void *context); /* NULL: context is borrowed */
};

/* An empty text of such cells. The source is borrowed and outlives it; context becomes the cells',
 * also on failure. NULL: out of memory. */
struct lazy_text *lazy_text_new_from(const struct lazy_text_source *source, void *context);

/* The next one of these, of width bytes, as lazy_text_add(). */
void lazy_text_add_filled(struct lazy_text *cells, const struct subject *subject, size_t width);

/* An empty text. measures is borrowed and outlives it. NULL: out of memory. */
struct lazy_text *lazy_text_new(struct memo *measures);

/* Where to write what stands between the cells. Borrowed. */
FILE *lazy_text_stream(struct lazy_text *cells);

/* The next cell. Takes a reference of its own to the content. */
void lazy_text_add(struct lazy_text *cells, const struct subject *subject,
		   lazy_text_print_fn *print);

/* What belongs into the text cannot be had: there will be no view. */
void lazy_text_fail(struct lazy_text *cells);

/* The whole as a view, whose the cells become, also on failure. NULL: memory ran out, now or
 * before. */
struct view *lazy_text_view(struct lazy_text *cells);

#endif
