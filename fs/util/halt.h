/* SPDX-License-Identifier: MIT */
/* halt.h - how a long job that a read waits for is ended. */
#ifndef FS_UTIL_HALT_H
#define FS_UTIL_HALT_H

#include <stdatomic.h>
#include <stdbool.h>

/* The job gives up with -EINTR when one of them becomes true: the reader was interrupted, or the
 * mount ends. Both may be NULL. */
struct halt {
	const atomic_bool *reader, *mount;
};

static inline bool halted(const struct halt *halt)
{
	return (halt->reader && atomic_load(halt->reader)) ||
	       (halt->mount && atomic_load(halt->mount));
}

#endif
