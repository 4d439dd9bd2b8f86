/* SPDX-License-Identifier: MIT */
/* fifo_lock.h - a fair (FIFO) mutex: threads get it in the order in which they came, and their wait
 * can be cancelled. */
#ifndef FS_UTIL_FIFO_LOCK_H
#define FS_UTIL_FIFO_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>

struct fifo_lock; /* any thread may use it */

struct fifo_lock *fifo_lock_new(void); /* NULL: out of memory */
void fifo_lock_free(struct fifo_lock *fifo_lock);

/* Wait for the lock, to be released with fifo_lock_release(). Returns 0, or -EINTR soon after
 * *cancel became true; cancel may be NULL. */
int fifo_lock_acquire(struct fifo_lock *fifo_lock, const atomic_bool *cancel);
void fifo_lock_release(struct fifo_lock *fifo_lock);

#endif
