/* SPDX-License-Identifier: MIT */
/* visits.h - threads that look at places of which some may not answer: one at a time at each, so
 * that one that hangs keeps one thread, however often somebody wants to know what is there. */
#ifndef FS_VISITS_H
#define FS_VISITS_H

#include <stdbool.h>
#include <time.h>

struct visits; /* counted; any thread may use it */

struct visits *visits_new(void); /* NULL: out of memory */
struct visits *visits_ref(struct visits *visits);
void visits_unref(struct visits *visits); /* NULL is fine */

/* Begin a visit of the place of that name, which is copied, when no other thread is there. Waits
 * until that time of CLOCK_MONOTONIC, but not for one who has been there for some seconds. False:
 * another thread is still there, or there is no memory. Else visit_end() is due. */
bool visit_begin(struct visits *visits, const char *place, const struct timespec *until);
void visit_end(struct visits *visits, const char *place);

#endif
