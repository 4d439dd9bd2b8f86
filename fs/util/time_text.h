/* SPDX-License-Identifier: MIT */
/* time_text.h - a time as text: ISO 8601 in UTC, "2024-05-05T05:05:05Z". */
#ifndef FS_UTIL_TIME_TEXT_H
#define FS_UTIL_TIME_TEXT_H

#include <stdio.h>
#include <time.h>

#define TIME_TEXT_MAX 32

static inline const char *time_text(const struct timespec *time, char text[TIME_TEXT_MAX])
{
	struct tm tm;

	if (!gmtime_r(&time->tv_sec, &tm) ||
	    !strftime(text, TIME_TEXT_MAX, "%Y-%m-%dT%H:%M:%SZ", &tm))
		snprintf(text, TIME_TEXT_MAX, "-");
	return text;
}

#endif
