/* SPDX-License-Identifier: MIT */
/* helper_process.h - a child that does for its parent what the parent has given up the rights to.
 *
 * 1. It is forked while the parent still has these rights. What it can be asked for is decided
 *    then, and a parent that has been taken over has no more of it than that.
 * 2. It holds nothing of the parent's open: no lock of the parent's, no connection to the kernel
 *    and no pipe lives on because the helper does.
 * 3. It ends when the parent does, however that ends, and takes no signal but SIGKILL before. Where
 *    the parent was killed, it does a last thing that was decided too when it was forked. */
#ifndef FS_UTIL_HELPER_PROCESS_H
#define FS_UTIL_HELPER_PROCESS_H

#include <stddef.h>

struct helper_process; /* one thread uses it */

struct helper_jobs {
	void (*const *jobs)(void *context);
	size_t n;			 /* at most 254 */
	void (*orphaned)(void *context); /* where the parent ends without helper_process_free() */
};

/* Begin one that can do these jobs with that context: all is as it is now. Its orphaned may be
 * NULL. In lists of processes it is called title. NULL: it cannot be made, with errno set. */
struct helper_process *helper_process_new(const struct helper_jobs *jobs, void *context,
					  const char *title);

/* Have it do job i, and wait for that. Returns 0, or -EIO: it is gone. */
int helper_process_run(struct helper_process *helper, size_t i);

/* Let it end, and wait for that. NULL is fine. */
void helper_process_free(struct helper_process *helper);

#endif
