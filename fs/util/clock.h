/* SPDX-License-Identifier: MIT */
/* clock.h - the time of CLOCK_MONOTONIC, which cannot be set. */
#ifndef FS_UTIL_CLOCK_H
#define FS_UTIL_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t clock_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The time so many milliseconds from now, for pthread_cond_timedwait(). */
static inline struct timespec clock_in(int64_t milliseconds)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += milliseconds / 1000;
	until.tv_nsec += milliseconds % 1000 * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	return until;
}

#endif
