/* SPDX-License-Identifier: MIT */
/* tasks.h - wait until another thread or process waits. The limit on each wait is the one of the
 * case: see UNIT_MAIN(). */
#ifndef TESTS_UNIT_TASKS_H
#define TESTS_UNIT_TASKS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

/* State of a thread or process as ps(1) shows it: 'S' is asleep, 'T' stopped. 0: it has gone. */
char task_state(pid_t task);

/* Sleep for one millisecond: the body of a loop that waits for an event. */
void tick(void);

/* Return when this process has computed for 20 ms more, however long that takes. */
void await_work(void);

/* A thread whose sleep can be waited for. */
struct task {
	pthread_t thread;
	void *(*run)(void *argument);
	void *argument;
	_Atomic pid_t number; /* 0: it has not begun */
	atomic_bool over;
};

void task_begin(struct task *task, void *(*run)(void *argument), void *argument);

/* Wait until the thread sleeps, as in a wait for a lock. False: it has ended instead. */
bool task_sleeps(struct task *task);

/* Join the thread. Returns the result of run. */
void *task_end(struct task *task);

#endif
