/* SPDX-License-Identifier: MIT */
/* tasks.h - waits for another thread or process to wait. The case's limit of time applies to each
 * wait: see UNIT_MAIN(). */
#ifndef TESTS_UNIT_TASKS_H
#define TESTS_UNIT_TASKS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

/* State of a thread or process as in ps(1): 'S' is asleep, 'T' stopped. 0: it has ended. */
char task_state(pid_t task);

/* Sleep for one millisecond: the body of a loop that waits for an event. */
void tick(void);

/* Return after 20 ms more of this process's CPU time, however long that takes. */
void await_work(void);

/* A thread whose sleep a test can wait for. */
struct task {
	pthread_t thread;
	void *(*run)(void *argument);
	void *argument;
	_Atomic pid_t number; /* 0: not begun */
	atomic_bool over;
};

void task_begin(struct task *task, void *(*run)(void *argument), void *argument);

/* Wait until the thread sleeps, as in a wait for a lock. Returns false if it has ended instead. */
bool task_sleeps(struct task *task);

/* Join the thread. Returns the result of run. */
void *task_end(struct task *task);

#endif
