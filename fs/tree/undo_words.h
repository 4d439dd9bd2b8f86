/* SPDX-License-Identifier: MIT */
/* undo_words.h - the words that are written to .undo, .recipe or .merge through one open file.
 *
 * The words of .undo are lines: a line counts when its newline is written, and one that begins with
 * '#' is a comment. A program that copies a whole tree writes back the comments that .undo shows,
 * and nothing may be undone by it. The words of the other files are one text. */
#ifndef FS_TREE_UNDO_WORDS_H
#define FS_TREE_UNDO_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct undo_words; /* any thread may use it */

/* Words of at most that many bytes. NULL: out of memory. */
struct undo_words *undo_words_new(size_t most, bool lines);
void undo_words_free(struct undo_words *words); /* NULL is fine */

/* Add n bytes that are written at offset. Each write begins where the one before it ended; the
 * first may begin anywhere. Returns 0 or, for this and every later write, -EINVAL the offset is
 * another or there is a NUL, -EFBIG, -ENOMEM, or the error of undo_words_end(). */
#define UNDO_WORDS_MAX ((size_t)1 << 20)
int undo_words_write(struct undo_words *words, const char *bytes, size_t n, uint64_t offset);

/* Is the next byte the first of a line? */
bool undo_words_at_line(struct undo_words *words);

/* Take no more words, neither earlier nor later ones: undo_words_write() fails with rc. */
void undo_words_end(struct undo_words *words, int rc);

/* The words to obey now, n bytes and a NUL, to free: complete lines, which are taken once; of a
 * text all, if some of it is new. all: the file is released, so that a line without a newline
 * counts too. NULL: there are none, a write was refused, or there is no memory. */
char *undo_words_take(struct undo_words *words, bool all, size_t *n);

#endif
