/* SPDX-License-Identifier: MIT */
/* utf8.h - where UTF-8 ends and other bytes begin, and what of it can be shown. */
#ifndef FS_UTIL_UTF8_H
#define FS_UTIL_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* The bytes of the UTF-8 sequence at the start of n bytes, at least one; 0 if there is none:
 * shortest forms only, no surrogates, nothing above U+10FFFF (Unicode, table 3-7). NUL is none. */
size_t utf8_length(const void *bytes, size_t n);

/* The sequence of a code point up to U+10FFFF that is no surrogate. Returns its bytes, 1 to 4. */
size_t utf8_encode(uint32_t point, char out[4]);

/* The code point at the start of text, which ends with a NUL, and its bytes. What is no UTF-8 is
 * one byte; that, controls, and what would turn the direction of the text around it are U+FFFD. */
#define UTF8_REPLACEMENT 0xfffdu
size_t utf8_next(const char *text, uint32_t *code);

#endif
