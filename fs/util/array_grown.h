/* SPDX-License-Identifier: MIT */
/* array_grown.h - arrays that grow as things are added. */
#ifndef FS_UTIL_ARRAY_GROWN_H
#define FS_UTIL_ARRAY_GROWN_H

#include <stdlib.h>

/* The array with room for one more thing of that size behind its n: things itself, or where that
 * had only *room a new one in its place. NULL: out of memory, and things is as it was. */
static inline void *array_grown(void *things, size_t n, size_t *room, size_t size)
{
	const size_t more = *room * 2 + 8;
	void *grown = things;

	if (n < *room)
		return things;
	grown = reallocarray(things, more, size);
	if (grown)
		*room = more;
	return grown;
}

#endif
