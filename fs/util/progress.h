/* SPDX-License-Identifier: MIT */
/* progress.h - progress of a long job in bytes, and the flags that cancel it. */
#ifndef FS_UTIL_PROGRESS_H
#define FS_UTIL_PROGRESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Other threads may read the counters. */
struct progress {
	atomic_uint_fast64_t done, total;
	/* the job ends when either is true; NULL: not used */
	const atomic_bool *cancel, *ending;
	/* bytes by method: shared with another file, copied by the kernel, written from memory */
	atomic_uint_fast64_t shared, copied, written;
};

static inline bool progress_is_cancelled(const struct progress *progress)
{
	return (progress->cancel && atomic_load(progress->cancel)) ||
	       (progress->ending && atomic_load(progress->ending));
}

static inline void progress_begin(struct progress *progress, uint64_t total)
{
	atomic_store(&progress->done, 0);
	atomic_store(&progress->total, total);
	atomic_store(&progress->shared, 0);
	atomic_store(&progress->copied, 0);
	atomic_store(&progress->written, 0);
}

/* Count n more bytes, done by the method whose counter is `way`. */
static inline void progress_add(struct progress *progress, atomic_uint_fast64_t *way, uint64_t n)
{
	atomic_fetch_add(way, n);
	atomic_fetch_add(&progress->done, n);
}

#endif
