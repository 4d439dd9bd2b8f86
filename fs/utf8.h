/* SPDX-License-Identifier: MIT */
/* utf8.h - where UTF-8 ends and other bytes begin. */
#ifndef FS_UTF8_H
#define FS_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* The bytes of the UTF-8 sequence at the start of n bytes, at least one; 0 if there is none:
 * shortest forms only, no surrogates, nothing above U+10FFFF (Unicode, table 3-7). NUL is none. */
size_t utf8_length(const void *bytes, size_t n);

/* The sequence of a code point up to U+10FFFF that is no surrogate. Returns its bytes, 1 to 4. */
size_t utf8_put(uint32_t point, char out[4]);

#endif
