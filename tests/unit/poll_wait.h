/* SPDX-License-Identifier: MIT */
/* poll_wait.h - stands in for cond_poll_wait() of fs/util in programs that are linked with
 * -Wl,--wrap=cond_poll_wait. */
#ifndef TESTS_POLL_WAIT_H
#define TESTS_POLL_WAIT_H

#include <pthread.h>

/* Called in its place; NULL: nothing stands in for it. */
extern void (*poll_wait)(pthread_cond_t *condition, pthread_mutex_t *lock);

#endif
