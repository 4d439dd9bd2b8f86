/* SPDX-License-Identifier: MIT */
/* cond_poll.c - see cond_poll.h. */
#include "fs/util/cond_poll.h"

#include <time.h>

/* How soon an interrupt is noticed. */
#define POLL_INTERVAL_NS 20000000L

void cond_poll_init(pthread_cond_t *condition)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(condition, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

void cond_poll_wait(pthread_cond_t *condition, pthread_mutex_t *lock)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += POLL_INTERVAL_NS;
	if (until.tv_nsec >= 1000000000L) {
		until.tv_nsec -= 1000000000L;
		until.tv_sec++;
	}
	pthread_cond_timedwait(condition, lock, &until);
}
