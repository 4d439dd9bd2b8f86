/* SPDX-License-Identifier: MIT */
/* cond_poll.h - condition variables for waits that can be interrupted. */
#ifndef FS_UTIL_COND_POLL_H
#define FS_UTIL_COND_POLL_H

#include <pthread.h>

/* Initialise a condition variable with the clock CLOCK_MONOTONIC. */
void cond_poll_init(pthread_cond_t *condition);

/* Wait, with the lock held, until the condition is signalled or 20 ms have passed. The caller then
 * checks for events that no thread signals, such as an interrupt. */
void cond_poll_wait(pthread_cond_t *condition, pthread_mutex_t *lock);

#endif
