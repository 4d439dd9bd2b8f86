/* SPDX-License-Identifier: MIT */
/* time_order.h - comparison of two times. */
#ifndef FS_UTIL_TIME_ORDER_H
#define FS_UTIL_TIME_ORDER_H

#include <stdbool.h>
#include <time.h>

static inline bool is_earlier(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

#endif
