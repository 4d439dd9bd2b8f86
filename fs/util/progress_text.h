/* SPDX-License-Identifier: MIT */
/* progress_text.h - progress of a long job as text. */
#ifndef FS_UTIL_PROGRESS_TEXT_H
#define FS_UTIL_PROGRESS_TEXT_H

#include <stdint.h>
#include <stdio.h>

/* Print "43 %, 2013 of 4677 MB, 222 MB/s, 0:12 left", or if noun is not NULL, "43 %, 120 of 291
 * NOUN, 0:12 left". Rate and time left are omitted while they are unknown. All values of done,
 * total and seconds are valid. */
void progress_text(FILE *out, uint64_t done, uint64_t total, double seconds, const char *noun);

#endif
