/* SPDX-License-Identifier: MIT */
/* plural.h - a count and a noun beside each other: "1 graft", "2 grafts". */
#ifndef FS_UTIL_PLURAL_H
#define FS_UTIL_PLURAL_H

#include <stdint.h>

/* What a regular noun ends in after that number. */
static inline const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

#endif
