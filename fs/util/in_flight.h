/* SPDX-License-Identifier: MIT */
/* pending.h - changes whose program has been answered before they are in force: a file that was
 * emptied and closed. The kernel tells of each close of a descriptor, and that it was the last one
 * only with the release, which no process waits for. A lookup that comes afterwards waits for such
 * changes, so that it finds them in force. */
#ifndef FS_PENDING_H
#define FS_PENDING_H

#include <stdbool.h>

struct pending; /* any thread may use it */

struct pending *pending_new(void); /* NULL: out of memory */
void pending_free(struct pending *pending);

/* A descriptor of an emptied file was closed: the release may be on its way. It is waited for no
 * longer than PENDING_PATIENCE seconds, since another descriptor of the file may stay open for as
 * long as its process likes. pending_unexpect(): the release has come, or the file was
 * written to. */
#define PENDING_PATIENCE 1
void pending_expect(struct pending *pending);
void pending_unexpect(struct pending *pending);

/* One more change is on its way; it is in force, or refused. */
void pending_begin(struct pending *pending);
void pending_end(struct pending *pending);

/* Has pending_wait() anything to wait for? */
bool pending_any(struct pending *pending);

/* Until there is none. */
void pending_wait(struct pending *pending);

#endif
