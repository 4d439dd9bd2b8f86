/* SPDX-License-Identifier: MIT */
/* helper_process.h - a child that keeps rights which its parent gives up, and uses them for fixed
 * jobs.
 *
 * 1. It is forked while the parent still has the rights. The jobs are fixed at that time, so that a
 *    compromised parent cannot ask for anything else.
 * 2. It keeps none of the parent's descriptors open, so that no lock, no connection to the kernel
 *    and no pipe of the parent outlives the parent through it.
 * 3. It ends when the parent ends, and blocks all signals but SIGKILL until then. If the parent was
 *    killed, it calls `orphaned`. */
#ifndef FS_UTIL_HELPER_PROCESS_H
#define FS_UTIL_HELPER_PROCESS_H

#include <stddef.h>

struct helper_process; /* one thread uses it */

struct helper_jobs {
	void (*const *jobs)(void *context);
	size_t n;			 /* at most 254 */
	void (*orphaned)(void *context); /* NULL, or called if the parent was killed */
};

/* Fork a helper that can do these jobs, each called with context, on a copy of the parent's present
 * memory. Lists of processes show the helper as title. NULL: failed, with errno set. */
struct helper_process *helper_process_new(const struct helper_jobs *jobs, void *context,
					  const char *title);

/* Have the helper do job i, and wait until it is done. Returns 0, or -EIO if the helper is gone. */
int helper_process_run(struct helper_process *helper, size_t i);

/* End the helper and wait for its end. NULL is fine. */
void helper_process_free(struct helper_process *helper);

#endif
