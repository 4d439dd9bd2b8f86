/* SPDX-License-Identifier: MIT */
/* parallel.h - a loop that one thread runs with the help of a pool's threads. */
#ifndef FS_UTIL_PARALLEL_H
#define FS_UTIL_PARALLEL_H

#include <stddef.h>

/* Number of online processors, at most 64. */
unsigned parallel_threads(void);

struct pool;

/* Call run(context, i) for each i below n, in ascending order, on this thread and on up to
 * `helpers` threads of the pool; pool may be NULL. Busy threads of the pool are not waited for;
 * this thread does the work without them. After an error no further call is begun. Returns 0 or the
 * first error, when no thread is within run() any more. */
int parallel_run(struct pool *pool, unsigned helpers, size_t n, int (*run)(void *context, size_t i),
		 void *context);

#endif
