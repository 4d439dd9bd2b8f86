/* SPDX-License-Identifier: MIT */
/* poll_wait.h - a replacement for cond_poll_wait() of fs/util, by -Wl,--wrap=cond_poll_wait. */
#ifndef TESTS_POLL_WAIT_H
#define TESTS_POLL_WAIT_H

#include <pthread.h>

/* Called in place of cond_poll_wait(); NULL: the real one is called. */
extern void (*poll_wait)(pthread_cond_t *condition, pthread_mutex_t *lock);

#endif
