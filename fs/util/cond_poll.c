/* SPDX-License-Identifier: MIT */
/* cond_poll.c - see cond_poll.h. */
#include "fs/util/cond_poll.h"
#include "fs/util/clock.h"

/* longest delay until an interrupt is noticed */
#define POLL_MS 20

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
	const struct timespec until = clock_in(POLL_MS);

	pthread_cond_timedwait(condition, lock, &until);
}
