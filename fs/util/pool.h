/* SPDX-License-Identifier: MIT */
/* pool.h - a pool of threads for long jobs, so that threads which answer requests do not run
 * them. */
#ifndef FS_UTIL_POOL_H
#define FS_UTIL_POOL_H

struct pool; /* any thread may submit to it */

/* A pool of at most `threads` threads, started when first needed. NULL: out of memory. */
struct pool *pool_new(unsigned threads);

/* Wait for all submitted jobs, then free the pool. */
void pool_free(struct pool *pool);

/* Have a thread of the pool call run(argument), in the order of submission. Returns 0, or -ENOMEM
 * if memory is short or the pool has no thread and none can be started; run is then not called. */
int pool_submit(struct pool *pool, void (*run)(void *argument), void *argument);

#endif
