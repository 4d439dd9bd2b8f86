/* SPDX-License-Identifier: MIT */
/* poll_wait.c - see poll_wait.h. */
#include "tests/unit/poll_wait.h"

#include <stddef.h>

void __real_cond_poll_wait(pthread_cond_t *condition, pthread_mutex_t *lock);
void __wrap_cond_poll_wait(pthread_cond_t *condition, pthread_mutex_t *lock);

void (*poll_wait)(pthread_cond_t *condition, pthread_mutex_t *lock);

void __wrap_cond_poll_wait(pthread_cond_t *condition, pthread_mutex_t *lock)
{
	if (poll_wait)
		poll_wait(condition, lock);
	else
		__real_cond_poll_wait(condition, lock);
}
