/* SPDX-License-Identifier: MIT */
/* hash_text.h - XXH128 and XXH64 as text, in the byte order of xxhsum. */
#ifndef FS_UTIL_HASH_TEXT_H
#define FS_UTIL_HASH_TEXT_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

/* Hexadecimal digits and a NUL. */
#define XXH128_TEXT 33

static inline void xxh128_text(XXH128_hash_t hash, char text[XXH128_TEXT])
{
	snprintf(text, XXH128_TEXT, "%016" PRIx64 "%016" PRIx64, hash.high64, hash.low64);
}

static inline bool xxh128_is_text(const char *text)
{
	return strlen(text) == XXH128_TEXT - 1 &&
	       strspn(text, "0123456789abcdef") == XXH128_TEXT - 1;
}

/* 16 digits and a NUL. */
static inline void xxh64_text(XXH64_hash_t hash, char text[17])
{
	snprintf(text, 17, "%016" PRIx64, hash);
}

#endif
