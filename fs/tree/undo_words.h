/* SPDX-License-Identifier: MIT */
/* undo_words.h - what is written to .undo, or .recipe, through one open file, as it comes, until
 * that is closed.
 *
 * To .undo, lines that begin with '#' say nothing. It consists of such lines itself, and a program
 * that copies a whole tree writes them back: nothing may be undone by it. */
#ifndef FS_TREE_UNDO_WORDS_H
#define FS_TREE_UNDO_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct undo_words; /* any thread may use it */

/* Of at most that many bytes. comments: lines that begin with '#' say nothing. NULL: out of
 * memory. */
struct undo_words *undo_words_new(size_t most, bool comments);
void undo_words_free(struct undo_words *words); /* NULL is fine */

/* n bytes are written at offset: wherever that begins, it goes on where it stopped. Returns 0, or
 * -EINVAL it does not, or writes a NUL; -EFBIG; -ENOMEM. Then nothing of it says anything. */
#define UNDO_WORDS_MAX ((size_t)1 << 20)
int undo_words_write(struct undo_words *words, const char *bytes, size_t n, uint64_t offset);

/* Is the next byte the first of a line? */
bool undo_words_at_line(struct undo_words *words);

/* Drop all words, earlier and later, until undo_words_take(): undo_words_write() of the later ones
 * is -ECANCELED. */
void undo_words_refuse(struct undo_words *words);

/* What was written, less the lines that say nothing, n bytes and a NUL, to free. NULL: nothing was
 * since this was last called, or some of it was refused. more: another process may write on. Then a
 * line that has no end yet waits for that, of lines; of a text all is given, now and once more with
 * what comes. */
char *undo_words_take(struct undo_words *words, bool more, size_t *n);

#endif
