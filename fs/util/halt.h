/* SPDX-License-Identifier: MIT */
/* halt.h - the two flags that end a long job for which a read waits. */
#ifndef FS_UTIL_HALT_H
#define FS_UTIL_HALT_H

#include <stdatomic.h>
#include <stdbool.h>

/* The job returns -EINTR if a flag is true: reader interrupted, or mount ends. Both may be NULL. */
struct halt {
	const atomic_bool *reader, *mount;
};

static inline bool halted(const struct halt *halt)
{
	return (halt->reader && atomic_load(halt->reader)) ||
	       (halt->mount && atomic_load(halt->mount));
}

#endif
