/* SPDX-License-Identifier: MIT */
/* readers.h - on which thread bytes are read from a disk that may not answer.
 *
 * A read is quickest on the thread that takes the request. But a server that is gone keeps each
 * thread that reads from it. So that names, attributes and what is in memory are still answered:
 *
 * 1. All but two of the session's threads may be reading at a time, and none while it is the only
 *    one that takes requests. Other reads are made by threads of their own.
 * 2. Those are READERS_MOST for each filesystem at most, so that one that hangs does not keep the
 *    reads of others waiting; further reads of it wait in a queue.
 * 3. Who is interrupted, and has no answer a moment later, gets EINTR from one more thread, while
 *    the read goes on and its bytes are dropped (ops_later.h). */
#ifndef FS_READERS_H
#define FS_READERS_H

#include "fs/util/pool.h"

#include <stdbool.h>
#include <sys/types.h>

#define READERS_MOST 8

struct readers; /* any thread may use it */

/* For a session of so many threads. NULL: out of memory. */
struct readers *readers_new(unsigned threads);

/* Wait for all reads, and give the threads up; none may be begun afterwards. */
void readers_settle(struct readers *readers); /* NULL is fine, in both */
void readers_free(struct readers *readers);

/* May this thread of the session read? Then readers_leave() is due. */
bool readers_enter(struct readers *readers);
void readers_leave(struct readers *readers);

/* The thread that takes requests is the only one that could, or not any more. */
void readers_alone(struct readers *readers, bool alone);

/* The threads that read from the filesystem with that device number. NULL: out of memory. */
struct pool *readers_of(struct readers *readers, dev_t device);

/* The thread that answers who was interrupted. */
struct pool *readers_answering(struct readers *readers);

#endif
