/* SPDX-License-Identifier: MIT */
/* plural.h - the plural of a noun after a count: "1 graft", "2 grafts". */
#ifndef FS_UTIL_PLURAL_H
#define FS_UTIL_PLURAL_H

#include <stdint.h>

/* Suffix of a regular noun after the number n. */
static inline const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

#endif
