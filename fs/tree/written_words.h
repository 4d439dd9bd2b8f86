/* SPDX-License-Identifier: MIT */
/* written_words.h - the words written to .undo, .recipe, .types, .merge or blocks/order through one
 * open file.
 *
 * With lines set, a line counts once its newline is written, and a line that begins with '#' is a
 * comment. A program that copies a whole tree writes back the comments that .undo shows, which must
 * undo nothing. Otherwise the words are one text. */
#ifndef FS_TREE_WRITTEN_WORDS_H
#define FS_TREE_WRITTEN_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct written_words; /* any thread may use it */

/* New words of at most so many bytes. NULL: out of memory. */
struct written_words *written_words_new(size_t most, bool lines);
void written_words_free(struct written_words *words); /* NULL is fine */

/* Add n bytes written at offset. Each write must begin at the end of the previous one; the first
 * may begin anywhere. Returns 0, or for this and all later writes an error: -EINVAL another offset
 * or a NUL, -EFBIG, -ENOMEM, or the error of written_words_end(). */
#define WRITTEN_WORDS_MAX ((size_t)1 << 20)
int written_words_write(struct written_words *words, const char *bytes, size_t n, uint64_t offset);

/* Is the next byte the first of a line? */
bool written_words_at_line(struct written_words *words);

/* Discard earlier words and refuse later ones: written_words_write() fails with rc. */
void written_words_end(struct written_words *words, int rc);

/* Take the words to obey now, n bytes and a NUL, to free: complete lines, each taken once; of a
 * text all, if some of it is new. all: the file is released, so that a line without a newline
 * counts too. NULL: none, a write was refused, or out of memory. */
char *written_words_take(struct written_words *words, bool all, size_t *n);

#endif
