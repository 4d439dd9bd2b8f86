/* SPDX-License-Identifier: MIT */
/* in_flight.h - changes that come into force only after their program has been answered: a file
 * that was emptied and closed. The kernel reports each close(), but the last one is known only by
 * the release, for which no process waits. A later lookup waits for such changes, so that it sees
 * their result. */
#ifndef FS_UTIL_IN_FLIGHT_H
#define FS_UTIL_IN_FLIGHT_H

#include <stdbool.h>

struct in_flight; /* any thread may use it */

struct in_flight *in_flight_new(void); /* NULL: out of memory */
void in_flight_free(struct in_flight *in_flight);

/* A descriptor of an emptied file was closed, so a release may follow. Waiters stop after
 * IN_FLIGHT_EXPECT_SECONDS, because a process may keep another descriptor of the file open for
 * long. Call in_flight_unexpect() when the release has come or the file was written to. */
#define IN_FLIGHT_EXPECT_SECONDS 1
void in_flight_expect(struct in_flight *in_flight);
void in_flight_unexpect(struct in_flight *in_flight);

/* A change is on its way (begin); it is in force, or refused (end). */
void in_flight_begin(struct in_flight *in_flight);
void in_flight_end(struct in_flight *in_flight);

/* Is there a change for which in_flight_wait() would wait? */
bool in_flight_any(struct in_flight *in_flight);

/* Wait until no change is on its way. */
void in_flight_wait(struct in_flight *in_flight);

#endif
