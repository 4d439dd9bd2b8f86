/* SPDX-License-Identifier: MIT */
/* text_escape.h - bytes that would break a line, a word or a file's name, percent-encoded ("%0A").
 *
 * Encoded are the bytes of control characters, as gguf/printable.h has them, and those that the
 * string `also` names: in it '\x80' stands for every byte that is no ASCII. Text comes back by
 * text_unescape() where '%' is one of them. */
#ifndef FS_UTIL_TEXT_ESCAPE_H
#define FS_UTIL_TEXT_ESCAPE_H

#include <stddef.h>
#include <stdio.h>

/* The next of n bytes, as one byte or encoded as three. *left, 0 at first, counts the bytes of a
 * control character that are still to come. Returns how many bytes out has. */
size_t text_escape_byte(const char *at, size_t n, const char *also, size_t *left, char out[3]);

/* n bytes. out has room for 3 n + 1, with a NUL. Returns the length without the NUL. */
size_t text_escape(const char *bytes, size_t n, const char *also, char *out);
void text_escape_print(const char *bytes, size_t n, const char *also, FILE *out);

/* The byte that "%XX" at the start of text stands for, of digits of either case; -1: it is none. */
int text_unescape_byte(const char *text);

/* Decode a text in place; a '%' that begins no encoded byte stays. Returns the length in bytes,
 * without the NUL. */
size_t text_unescape(char *text);

#endif
