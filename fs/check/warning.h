/* SPDX-License-Identifier: MIT */
/* warning.h - the worst that .check says of a model, found out while something else is done.
 *
 * 1. A thread asks, first whether the donors' files answer, then .check. Only in the second step,
 *    which ends soon when it is told to, it touches the model.
 * 2. No assembly waits for a donor whose filesystem does not answer: warning_end() leaves the
 *    thread in the first step to itself, and what it works on then is its own. */
#ifndef FS_CHECK_WARNING_H
#define FS_CHECK_WARNING_H

#include <stdbool.h>

struct model;
struct snapshot;
struct warning;

/* Begin to ask about the model in a snapshot, with the rights of the calling thread. The model is
 * borrowed until warning_end(), the snapshot during the call. NULL, which warning_end() takes: it
 * has no graft, or out of memory. */
struct warning *warning_begin(struct model *model, const struct snapshot *snapshot);

/* Wait so many seconds at most. The text is then "risky: CHECK: reason" or "impossible: ...", with
 * how many more checks say so; that there was no answer in time; or "", where .check says nothing
 * as bad, or cannot be made. */
#define WARNING_TEXT 320
void warning_end(struct warning *warning, unsigned seconds, char text[WARNING_TEXT]);

/* Is it a text that says "impossible"? */
bool warning_is_impossible(const char *text);

/* That text of what .check says, which is cut to pieces. */
void warning_of(char *check, char text[WARNING_TEXT]);

#endif
