/* SPDX-License-Identifier: MIT */
/* progress_text.h - how far a long job is, in words. */
#ifndef FS_UTIL_PROGRESS_TEXT_H
#define FS_UTIL_PROGRESS_TEXT_H

#include <stdint.h>
#include <stdio.h>

/* Print "43 %, 2013 of 4677 MB, 222 MB/s, 0:12 left", or with noun, which is not NULL,
 * "43 %, 120 of 291 NOUN, 0:12 left". The rate and the rest are left out where they are not known
 * yet. Any figures will do. */
void progress_text(FILE *out, uint64_t done, uint64_t total, double seconds, const char *noun);

#endif
