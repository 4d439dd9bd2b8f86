/* SPDX-License-Identifier: MIT */
/* in_flight.h - changes whose program has been answered before they are in force: a file that was
 * emptied and closed. The kernel tells of each close of a descriptor, and that it was the last one
 * only with the release, which no process waits for. A lookup that comes afterwards waits for such
 * changes, so that it finds them in force. */
#ifndef FS_UTIL_IN_FLIGHT_H
#define FS_UTIL_IN_FLIGHT_H

#include <stdbool.h>

struct in_flight; /* any thread may use it */

struct in_flight *in_flight_new(void); /* NULL: out of memory */
void in_flight_free(struct in_flight *in_flight);

/* A descriptor of an emptied file was closed: the release may be on its way. It is waited for no
 * longer than IN_FLIGHT_EXPECT_SECONDS seconds, since another descriptor of the file may stay open
 * for as long as its process likes. in_flight_unexpect(): the release has come, or the file was
 * written to. */
#define IN_FLIGHT_EXPECT_SECONDS 1
void in_flight_expect(struct in_flight *in_flight);
void in_flight_unexpect(struct in_flight *in_flight);

/* One more change is on its way; it is in force, or refused. */
void in_flight_begin(struct in_flight *in_flight);
void in_flight_end(struct in_flight *in_flight);

/* Has in_flight_wait() anything to wait for? */
bool in_flight_any(struct in_flight *in_flight);

/* Until there is none. */
void in_flight_wait(struct in_flight *in_flight);

#endif
