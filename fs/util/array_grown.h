/* SPDX-License-Identifier: MIT */
/* array_grown.h - growth of arrays to which elements are appended. */
#ifndef FS_UTIL_ARRAY_GROWN_H
#define FS_UTIL_ARRAY_GROWN_H

#include <stdlib.h>

/* Return an array with room for one more element of size bytes after its n: things itself, or a
 * reallocated array if all of its *room is used. NULL: out of memory; things is unchanged. */
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
