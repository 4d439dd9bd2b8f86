/* SPDX-License-Identifier: MIT */
/* test_background.c - fs/util/background.c: the moment when a command returns. */
#include "fs/util/background.h"
#include "tests/unit/tasks.h"
#include "tests/unit/temp_dir.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static pid_t command;

/* Start a process that goes into the background and calls run there. */
static pid_t begin(void (*run)(void **state, int waiting), void **state)
{
	const pid_t process = fork();

	if (process == 0) {
		int waiting;

		command = getpid();
		waiting = background_begin();
		if (waiting >= 0)
			run(state, waiting);
		_exit(waiting < 0 ? 9 : 3);
	}
	return process;
}

/* Exit status of that command. */
static int status_of(void (*run)(void **state, int waiting), void **state)
{
	const pid_t process = begin(run, state);
	int status = -1;

	assert_int_equal(waitpid(process, &status, 0), process);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void wait_until_exists(void **state, const char *name)
{
	while (!exists(in_temp(state, name).text))
		tick();
}

/* Wait until the command waits. Returns false if it has returned before. */
static bool command_waits(void)
{
	while (getppid() == command && task_state(command) != 'S')
		tick();
	return getppid() == command;
}

static void be_ready(void **state, int waiting)
{
	char directory[PATH_MAX];

	if (command_waits() && getcwd(directory, sizeof(directory)) &&
	    strcmp(directory, "/") == 0 && getsid(0) == getpid())
		write_text(in_temp(state, "there").text, "");
	background_ready(waiting);
}

static void the_command_returns_when_the_child_is_ready(void **state)
{
	assert_int_equal(status_of(be_ready, state), 0);
	assert_true(exists(in_temp(state, "there").text));
}

static void be_orphaned(void **state, int waiting)
{
	(void)state;
	must(kill(command, SIGKILL) == 0);
	while (getppid() == command)
		tick();
	background_ready(waiting);
}

static void a_child_outlives_a_command_that_is_killed(void **state)
{
	int status = -1;
	pid_t process;

	must(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
	process = begin(be_orphaned, state);
	assert_int_equal(waitpid(process, &status, 0), process);
	assert_true(WIFSIGNALED(status));
	assert_true(waitpid(-1, &status, 0) > 0);
	assert_true(WIFEXITED(status));
	must(prctl(PR_SET_CHILD_SUBREAPER, 0) == 0);
}

static void give_up(void **state, int waiting)
{
	(void)state;
	(void)waiting;
	command_waits();
}

static void child_that_ends_before_it_is_ready_is_a_failure(void **state)
{
	assert_int_equal(status_of(give_up, state), 1);
}

static void be_quiet(void **state, int waiting)
{
	struct stat null, out;

	background_ready(waiting);
	if (stat("/dev/null", &null) == 0 && fstat(STDOUT_FILENO, &out) == 0 &&
	    null.st_rdev == out.st_rdev)
		write_text(in_temp(state, "there").text, "");
}

static void output_of_background_process_is_discarded(void **state)
{
	assert_int_equal(status_of(be_quiet, state), 0);
	wait_until_exists(state, "there");
}

/* Run until the second signal. */
static void be_at_work(void **state, int waiting)
{
	const struct timespec limit = { .tv_sec = UNIT_SECONDS };
	sigset_t term;

	(void)waiting;
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	write_text(in_temp(state, "begun").text, "");
	if (sigtimedwait(&term, NULL, &limit) == SIGTERM)
		write_text(in_temp(state, "there").text, "");
	if (sigtimedwait(&term, NULL, &limit) == SIGTERM)
		write_text(in_temp(state, "given up").text, "");
}

/* Exit status of a command that gets two signals; ignored: SIGCHLD is ignored. */
static int status_of_told(void **state, bool ignored)
{
	pid_t process;
	int status = -1;
	sigset_t term;

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	process = fork();
	if (process == 0) {
		int waiting;

		signal(SIGCHLD, ignored ? SIG_IGN : SIG_DFL);
		sigprocmask(SIG_BLOCK, &term, NULL);
		waiting = background_begin();
		if (waiting >= 0)
			be_at_work(state, waiting);
		_exit(0);
	}
	wait_until_exists(state, "begun");
	assert_int_equal(kill(process, SIGTERM), 0);
	wait_until_exists(state, "there");
	assert_int_equal(kill(process, SIGTERM), 0);
	assert_int_equal(waitpid(process, &status, 0), process);
	assert_true(WIFEXITED(status));
	assert_true(exists(in_temp(state, "given up").text));
	return WEXITSTATUS(status);
}

static void a_second_signal_to_the_command_goes_to_the_child(void **state)
{
	assert_int_equal(status_of_told(state, false), 128 + SIGTERM);
}

static void end_of_child_is_seen_if_sigchld_is_ignored(void **state)
{
	assert_int_equal(status_of_told(state, true), 128 + SIGTERM);
}

UNIT_MAIN(temp_setup, temp_teardown)
