/* SPDX-License-Identifier: MIT */
/* probe_threads.h - bookkeeping of threads at places that may not answer: one thread at a time at
 * each place, so that a place that hangs holds one thread, however many requests ask for it. */
#ifndef FS_PATHS_PROBE_THREADS_H
#define FS_PATHS_PROBE_THREADS_H

#include <stdbool.h>
#include <time.h>

struct probe_threads; /* counted; any thread may use it */

struct probe_threads *probe_threads_new(void); /* NULL: out of memory */
struct probe_threads *probe_threads_ref(struct probe_threads *probes);
void probe_threads_unref(struct probe_threads *probes); /* NULL is fine */

/* Begin a visit of the place of that name, which is copied, once no other thread is there. Waits
 * until that time of CLOCK_MONOTONIC, but not for a visit that hangs. False: another thread is
 * still there, or out of memory. Otherwise probe_threads_end() is due. */
bool probe_threads_begin(struct probe_threads *probes, const char *place,
			 const struct timespec *until);
void probe_threads_end(struct probe_threads *probes, const char *place);

#endif
