/* SPDX-License-Identifier: MIT */
/* stop_flags.h - a list of the stop flags of running jobs. Each flag has a cause of its own, such
 * as an interrupt; the end of the mount sets all of them. */
#ifndef FS_UTIL_STOP_FLAGS_H
#define FS_UTIL_STOP_FLAGS_H

#include <stdatomic.h>
#include <stdbool.h>

struct stop_flags; /* any thread may use it */

/* One job's entry. It must not move while it is in the list. */
struct stop_flag {
	atomic_bool *stop; /* borrowed */
	struct stop_flag *next, **link;
};

struct stop_flags *stop_flags_new(void);	/* NULL: out of memory */
void stop_flags_free(struct stop_flags *flags); /* none is in the list; NULL is fine */

/* Call at the begin and at the end of a job. */
void stop_flags_add(struct stop_flags *flags, struct stop_flag *flag, atomic_bool *stop);
void stop_flags_remove(struct stop_flags *flags, struct stop_flag *flag);

/* Set all flags of the list, and every flag that is added later. */
void stop_flags_set(struct stop_flags *flags);

#endif
