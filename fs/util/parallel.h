/* SPDX-License-Identifier: MIT */
/* parallel.h - many pieces of work that one thread waits for, done by it and by threads of a
 * pool. */
#ifndef FS_UTIL_PARALLEL_H
#define FS_UTIL_PARALLEL_H

#include <stddef.h>

/* Number of threads that keep all processors busy, 64 at most. */
unsigned parallel_threads(void);

struct pool;

/* Call run(context, i) for each i below n, in their order, on this thread and on at most helpers of
 * the pool, which may be NULL. Threads of the pool that are busy are not waited for: the work is
 * done without them. After an error no more is begun. Returns when no thread runs it any more: 0,
 * or the first error. */
int parallel_run(struct pool *pool, unsigned helpers, size_t n, int (*run)(void *context, size_t i),
		 void *context);

#endif
