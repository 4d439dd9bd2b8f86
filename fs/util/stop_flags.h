/* SPDX-License-Identifier: MIT */
/* stop_flags.h - the flags by which jobs are told to give up, each by its own event, in a list:
 * so that one event, the end of the mount, tells all of them. */
#ifndef FS_UTIL_STOP_FLAGS_H
#define FS_UTIL_STOP_FLAGS_H

#include <stdatomic.h>
#include <stdbool.h>

struct stop_flags; /* any thread may use it */

/* A job's; it does not move while it is in the list. */
struct stop_flag {
	atomic_bool *stop; /* borrowed */
	struct stop_flag *next, **link;
};

struct stop_flags *stop_flags_new(void);	/* NULL: out of memory */
void stop_flags_free(struct stop_flags *flags); /* none is in the list; NULL is fine */

/* The job begins, and ends. */
void stop_flags_add(struct stop_flags *flags, struct stop_flag *flag, atomic_bool *stop);
void stop_flags_remove(struct stop_flags *flags, struct stop_flag *flag);

/* All of them become true, and each that is added later at once. */
void stop_flags_set(struct stop_flags *flags);

#endif
