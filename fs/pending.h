/* SPDX-License-Identifier: MIT */
/* pending.h - changes whose program has been answered before they are in force: a file that was
 * emptied and closed, which nobody knows to be closed for good before its release. Whoever looks
 * afterwards waits for them. */
#ifndef FS_PENDING_H
#define FS_PENDING_H

#include <stdbool.h>

struct pending; /* any thread may use it */

struct pending *pending_new(void); /* NULL: out of memory */
void pending_free(struct pending *pending);

/* One more is on its way; it is in force, or refused. */
void pending_begin(struct pending *pending);
void pending_end(struct pending *pending);

bool pending_any(struct pending *pending);

/* Until there is none. */
void pending_wait(struct pending *pending);

#endif
