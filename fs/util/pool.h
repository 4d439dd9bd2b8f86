/* SPDX-License-Identifier: MIT */
/* pool.h - threads for what may take long, so that no thread that answers requests does it. */
#ifndef FS_UTIL_POOL_H
#define FS_UTIL_POOL_H

struct pool; /* any thread may submit to it */

/* A pool of at most threads threads, each started when it is first needed. NULL: out of memory. */
struct pool *pool_new(unsigned threads);

/* Wait for every job that was submitted, then release the pool. */
void pool_free(struct pool *pool);

/* Run run(argument) on a thread of the pool, in the order of submission. Returns 0, or -ENOMEM,
 * also where no thread can be started; then the job will not run. */
int pool_submit(struct pool *pool, void (*run)(void *argument), void *argument);

#endif
