/* SPDX-License-Identifier: MIT */
/* session_loop.h - the threads that answer requests.
 *
 * One thread at a time waits for the next request. What takes no time (names, attributes) it
 * answers at once and goes on waiting: the kernel then wakes the same thread, on the processor that
 * asked, which measures four times as fast as many threads waiting for their turn. Before what may
 * have to wait (reads, writes, generated files) it passes the waiting on. Where all other threads
 * are at work, perhaps for a disk that does not answer, it goes on waiting itself, so that names
 * and attributes are still answered: reads are made by the threads of read_threads.h, and all else
 * is answered when a thread is free. */
#ifndef FS_FUSE_SESSION_LOOP_H
#define FS_FUSE_SESSION_LOOP_H

#include <stdbool.h>

struct fuse_session;
struct read_threads;

/* Answer requests with up to threads threads until the mount is gone or SIGINT or SIGTERM comes.
 * connected(context) is called once the kernel has the answer to its first request, and
 * hung_up(context), on this thread, whenever SIGHUP comes; if that says false, it ends. Returns 0,
 * or -errno when the connection to the kernel failed. These signals are the caller's again
 * afterwards. */
int session_loop(struct fuse_session *session, unsigned threads, struct read_threads *read_threads,
		 void (*connected)(void *context), bool (*hung_up)(void *context), void *context);

#endif
