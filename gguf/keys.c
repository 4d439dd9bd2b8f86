/* SPDX-License-Identifier: MIT */
/* keys.c - see keys.h. */
#include "keys.h"

#include <string.h>

static const struct known {
	const char *pattern; /* a key, with {arch} for the architecture and {} for any word */
	struct key_type type;
} known[] = {
#include "keys_table.inc" /* made from keys.tsv */
};

static bool matches(const char *pattern, const char *key, size_t n, const char *architecture)
{
	while (*pattern && n) {
		size_t length = 1;

		if (strncmp(pattern, "{arch}", 6) == 0) {
			length = strlen(architecture);
			if (length == 0 || length > n || memcmp(key, architecture, length) != 0)
				return false;
			pattern += 6;
		} else if (strncmp(pattern, "{}", 2) == 0) {
			const char *dot = memchr(key, '.', n);

			pattern += 2;
			length = dot ? (size_t)(dot - key) : n;
			if (length == 0)
				return false;
		} else if (*pattern++ != *key) {
			return false;
		}
		key += length;
		n -= length;
	}
	return !*pattern && !n;
}

bool key_type_find(const char *key, size_t n, const char *architecture, struct key_type *type)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (matches(known[i].pattern, key, n, architecture)) {
			*type = known[i].type;
			return true;
		}
	}
	return false;
}
