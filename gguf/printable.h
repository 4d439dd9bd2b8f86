/* SPDX-License-Identifier: MIT */
/* printable.h - what names and values from files must not do to a line, a terminal or a page: end
 * it, control it, or turn the direction of what stands beside them. */
#ifndef GGUF_PRINTABLE_H
#define GGUF_PRINTABLE_H

#include <stddef.h>
#include <stdint.h>

/* The bytes of such a character at the start of n bytes, and in *code, which may be NULL, its code
 * point; 0: there is none. They are U+0000 to U+001F, U+007F to U+009F, and what turns directions:
 * U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069. */
size_t control_length(const void *bytes, size_t n, uint32_t *code);

/* Put '?' in the place of each in a text that ends with a NUL, which gets no longer. */
void make_printable(char *text);

#endif
