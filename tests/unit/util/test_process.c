/* SPDX-License-Identifier: MIT */
/* test_process.c - fs/util/process.c: threads of this process, and of others. */
#include "fs/util/process.h"
#include "tests/unit/tasks.h"
#include "tests/unit/unit.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void *wait_for_cancellation(void *argument)
{
	pause();
	return argument;
}

static void thread_gives_its_process(void **state)
{
	struct task task;

	(void)state;
	task_begin(&task, wait_for_cancellation, NULL);
	assert_true(task_sleeps(&task));
	assert_int_equal(process_of(task.number), getpid());
	assert_int_equal(process_of(getpid()), getpid());
	assert_int_equal(pthread_cancel(task.thread), 0);
	task_end(&task);
}

static void a_child_is_known_while_it_lives(void **state)
{
	const pid_t child = fork();

	(void)state;
	if (child == 0) {
		pause();
		_exit(0);
	}
	assert_int_equal(process_of(child), child);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(process_of(child), 0);
}

static void invisible_thread_has_no_process(void **state)
{
	(void)state;
	assert_int_equal(process_of(0), 0);
	assert_int_equal(process_of(-1), 0);
}

static void handle(int number)
{
	(void)number;
}

static void a_process_that_is_only_stopped_is_not_signalled(void **state)
{
	const pid_t child = fork();
	sigset_t blocked;

	(void)state;
	if (child == 0) {
		/* A failed assertion would leave the stopped child behind. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sigemptyset(&blocked);
		sigaddset(&blocked, SIGUSR1);
		sigprocmask(SIG_BLOCK, &blocked, NULL);
		signal(SIGTTIN, handle);
		signal(SIGCHLD, handle);
		signal(SIGWINCH, handle);
		signal(SIGURG, handle);
		kill(getpid(), SIGSTOP);
		_exit(0);
	}
	while (task_state(child) != 'T')
		tick();
	assert_false(process_is_signalled(child));
	/* A stopped process does not handle these signals. */
	kill(child, SIGTSTP);
	kill(child, SIGUSR1);
	assert_false(process_is_signalled(child));
	/* These signals only inform a handler, as when a shell's job has ended. */
	kill(child, SIGCHLD);
	kill(child, SIGWINCH);
	kill(child, SIGURG);
	assert_false(process_is_signalled(child));
	kill(child, SIGTTIN);
	assert_true(process_is_signalled(child));
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

static void invisible_process_counts_as_signalled(void **state)
{
	(void)state;
	assert_true(process_is_signalled(0));
	assert_true(process_is_signalled(-1));
	assert_true(process_is_signalled(INT32_MAX));
	assert_false(process_is_signalled(getpid()));
}

UNIT_MAIN(NULL, NULL)
