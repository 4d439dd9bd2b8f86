/* SPDX-License-Identifier: MIT */
/* printable.h - characters that names and values from files must not put into a line, a terminal or
 * a page: those that end it, control it, or change the direction of the text beside them. */
#ifndef GGUF_PRINTABLE_H
#define GGUF_PRINTABLE_H

#include <stddef.h>
#include <stdint.h>

/* Length of such a character at the start of n bytes, and in *code, unless NULL, its code point; 0:
 * none. The characters are U+0000 to U+001F, U+007F to U+009F, and those that set directions:
 * U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069. */
size_t control_length(const void *bytes, size_t n, uint32_t *code);

/* Replace each of them by '?', in place, in a text that ends with a NUL. */
void make_printable(char *text);

#endif
