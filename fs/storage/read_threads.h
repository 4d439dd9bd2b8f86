/* SPDX-License-Identifier: MIT */
/* read_threads.h - assigns reads to threads, because a disk may not answer. Any thread may read
 * bytes of a base on a local disk from the page cache (BACKING_AT_ONCE).
 *
 * A read is fastest on the thread that takes the request. But a server that is gone blocks each
 * thread that reads from it. To answer names, attributes and bytes in memory all the same:
 *
 * 1. All but two of the session's threads may read at a time, and none while only one thread takes
 *    requests. Other reads, and reads from HTTP servers, run on separate threads.
 * 2. There are at most READ_THREADS_MAX of these for each filesystem, so that a hanging one does
 *    not delay reads of others; its further reads are queued.
 * 3. A program that is interrupted and has no answer a second later gets EINTR from one more
 *    thread, while the read continues and its bytes are dropped (fuse/ops.h). */
#ifndef FS_STORAGE_READ_THREADS_H
#define FS_STORAGE_READ_THREADS_H

#include <stdbool.h>
#include <sys/types.h>

struct pool;

#define READ_THREADS_MAX 8

struct read_threads; /* any thread may use it */

/* For a session of at most `threads` threads. NULL: out of memory. */
struct read_threads *read_threads_new(unsigned threads);

/* Wait for all reads and end the threads; no read may begin afterwards. */
void read_threads_drain(struct read_threads *read_threads); /* NULL is fine, in both */
void read_threads_free(struct read_threads *read_threads);

/* May this thread of the session read? If true, read_threads_leave() has to follow. */
bool read_threads_try_enter(struct read_threads *read_threads);
void read_threads_leave(struct read_threads *read_threads);

/* Set whether only one thread takes requests at present. */
void read_threads_set_alone(struct read_threads *read_threads, bool alone);

/* The pool for reads from the filesystem with that device number. NULL: out of memory. */
struct pool *read_threads_for_device(struct read_threads *read_threads, dev_t device);

/* The thread that answers interrupted requests. */
struct pool *read_threads_interrupt_pool(struct read_threads *read_threads);

#endif
