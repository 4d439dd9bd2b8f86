/* SPDX-License-Identifier: MIT */
/* cond_poll.h - conditions of threads that wait for another one, and may be interrupted
 * meanwhile. */
#ifndef FS_UTIL_COND_POLL_H
#define FS_UTIL_COND_POLL_H

#include <pthread.h>

/* A condition whose times are CLOCK_MONOTONIC's, which no administrator sets. */
void cond_poll_init(pthread_cond_t *condition);

/* With the lock held: wait until the condition is signalled, or a moment is over. The
 * caller looks then for events that no thread signals, such as an interrupt. */
void cond_poll_wait(pthread_cond_t *condition, pthread_mutex_t *lock);

#endif
