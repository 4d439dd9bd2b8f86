/* SPDX-License-Identifier: MIT */
/* utf8.h - validation of UTF-8, and replacement of code points that should not be displayed. */
#ifndef FS_UTIL_UTF8_H
#define FS_UTIL_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Length of the UTF-8 sequence at the start of n bytes, n being at least 1; 0: invalid, or a NUL.
 * Valid are shortest forms up to U+10FFFF without surrogates (Unicode, table 3-7). */
size_t utf8_length(const void *bytes, size_t n);

/* Encode a code point up to U+10FFFF, not a surrogate. Returns the number of bytes, 1 to 4. */
size_t utf8_encode(uint32_t point, char out[4]);

/* Decode the code point at the start of text, which ends with a NUL. Returns its length. An invalid
 * byte counts as one code point. Invalid bytes, controls, and characters that change the direction
 * of the surrounding text give U+FFFD. */
#define UTF8_REPLACEMENT 0xfffdu
size_t utf8_next(const char *text, uint32_t *code);

#endif
