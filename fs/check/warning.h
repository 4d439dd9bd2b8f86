/* SPDX-License-Identifier: MIT */
/* warning.h - the worst finding of .check, computed in the background of an assembly.
 *
 * 1. A thread first asks whether the donors' files answer, then reads .check. It touches the model
 *    in the second step only, which ends soon after a stop.
 * 2. No assembly waits for a donor whose filesystem does not answer: warning_end() leaves a thread
 *    in the first step alone, with data of its own. */
#ifndef FS_CHECK_WARNING_H
#define FS_CHECK_WARNING_H

#include <stdbool.h>

struct model;
struct snapshot;
struct warning;

/* Start the check of the model at a snapshot, with the rights of the calling thread. The model is
 * borrowed until warning_end(), the snapshot during the call. NULL, which warning_end() accepts: no
 * grafts, or out of memory. */
struct warning *warning_begin(struct model *model, const struct snapshot *snapshot);

/* Wait for at most that many seconds. The text is then "risky: CHECK: reason" or "impossible: ...",
 * with the number of further such checks; a note that there was no answer in time; or "" if no
 * verdict is as bad, or .check could not be made. */
#define WARNING_TEXT 320
void warning_end(struct warning *warning, unsigned seconds, char text[WARNING_TEXT]);

/* Whether the text is an "impossible" one. */
bool warning_is_impossible(const char *text);

/* The text for the content of .check, which is modified. */
void warning_of(char *check, char text[WARNING_TEXT]);

#endif
