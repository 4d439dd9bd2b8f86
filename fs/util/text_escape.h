/* SPDX-License-Identifier: MIT */
/* text_escape.h - percent-encoding ("%0A") of bytes that would break a line, a word or a file name.
 *
 * Encoded are the bytes of control characters (gguf/printable.h) and all bytes in the string
 * `also`, in which '\x80' stands for every byte that is not ASCII. text_unescape() restores the
 * text if `also` contains '%'. */
#ifndef FS_UTIL_TEXT_ESCAPE_H
#define FS_UTIL_TEXT_ESCAPE_H

#include <stddef.h>
#include <stdio.h>

/* Copy or encode the first of n bytes. *left, 0 at first, counts the bytes of the current control
 * character that are still to be encoded. Returns the number of bytes in out, 1 or 3. */
size_t text_escape_byte(const char *at, size_t n, const char *also, size_t *left, char out[3]);

/* Encode n bytes. out has room for 3 n + 1, a NUL included. Returns the length without the NUL. */
size_t text_escape(const char *bytes, size_t n, const char *also, char *out);
void text_escape_print(const char *bytes, size_t n, const char *also, FILE *out);

/* The byte encoded by "%XX" at the start of text, digits of either case; -1: none. */
int text_unescape_byte(const char *text);

/* Decode a text in place; a '%' without two digits stays. Returns the length without the NUL. */
size_t text_unescape(char *text);

#endif
