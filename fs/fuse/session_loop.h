/* SPDX-License-Identifier: MIT */
/* session_loop.h - the threads that answer requests.
 *
 * One thread at a time waits for the next request. It answers quick requests (names, attributes) at
 * once and goes on waiting: the kernel then wakes the same thread, on the processor of the caller,
 * which measures four times as fast as many threads that wait in turn. Before a request that may
 * block (reads, writes, generated files) it passes the waiting on to another thread. If all other
 * threads are busy, perhaps with a disk that does not answer, it goes on waiting itself, so that
 * names and attributes are still answered: the threads of read_threads.h then read, and all other
 * requests wait for a free thread. */
#ifndef FS_FUSE_SESSION_LOOP_H
#define FS_FUSE_SESSION_LOOP_H

#include <stdbool.h>

struct fuse_session;
struct read_threads;

/* Answer requests with at most `threads` threads until the unmount, SIGINT or SIGTERM.
 * connected(context) is called once the kernel has the answer to its first request;
 * hung_up(context), on the calling thread, at each SIGHUP, and its result false ends the loop.
 * Returns 0, or -errno if the connection to the kernel failed. Signal actions are restored. */
int session_loop(struct fuse_session *session, unsigned threads, struct read_threads *read_threads,
		 void (*connected)(void *context), bool (*hung_up)(void *context), void *context);

#endif
