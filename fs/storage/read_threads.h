/* SPDX-License-Identifier: MIT */
/* read_threads.h - on which thread bytes are read from a disk that may not answer. What is in
 * memory of a base on a disk of this machine any thread may read (BACKING_AT_ONCE).
 *
 * A read is quickest on the thread that takes the request. But a server that is gone keeps each
 * thread that reads from it. So that names, attributes and what is in memory are still answered:
 *
 * 1. All but two of the session's threads may be reading at a time, and none while it is the only
 *    one that takes requests. Other reads, and those from HTTP servers, are made by threads of
 *    their own.
 * 2. Those are READ_THREADS_MAX for each filesystem at most, so that one that hangs does not keep
 *    the reads of others waiting; further reads of it wait in a queue.
 * 3. Who is interrupted, and has no answer a moment later, gets EINTR from one more thread, while
 *    the read goes on and its bytes are dropped (fuse/ops.h). */
#ifndef FS_STORAGE_READ_THREADS_H
#define FS_STORAGE_READ_THREADS_H

#include <stdbool.h>
#include <sys/types.h>

struct pool;

#define READ_THREADS_MAX 8

struct read_threads; /* any thread may use it */

/* For a session of so many threads. NULL: out of memory. */
struct read_threads *read_threads_new(unsigned threads);

/* Wait for all reads, and give the threads up; none may be begun afterwards. */
void read_threads_drain(struct read_threads *read_threads); /* NULL is fine, in both */
void read_threads_free(struct read_threads *read_threads);

/* May this thread of the session read? Then read_threads_leave() is due. */
bool read_threads_try_enter(struct read_threads *read_threads);
void read_threads_leave(struct read_threads *read_threads);

/* The thread that takes requests is the only one that does for now, or not any more. */
void read_threads_set_alone(struct read_threads *read_threads, bool alone);

/* The threads that read from the filesystem with that device number. NULL: out of memory. */
struct pool *read_threads_for_device(struct read_threads *read_threads, dev_t device);

/* The thread that answers who was interrupted. */
struct pool *read_threads_interrupt_pool(struct read_threads *read_threads);

#endif
