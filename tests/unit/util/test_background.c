/* SPDX-License-Identifier: MIT */
/* test_background.c - fs/util/background.c: when a command returns. */
#include "fs/util/background.h"
#include "tests/unit/temp_dir.h"

#include <sys/wait.h>
#include <time.h>

/* The exit status of a process that goes into the background and runs that there. */
static int status_of(void (*run)(void **state, int waiting), void **state)
{
	const pid_t process = fork();
	int status = -1;

	if (process == 0) {
		const int waiting = background_begin();

		if (waiting >= 0)
			run(state, waiting);
		_exit(waiting < 0 ? 9 : 3);
	}
	assert_int_equal(waitpid(process, &status, 0), process);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void pause_a_moment(void)
{
	const struct timespec moment = { .tv_nsec = 100000000 };

	nanosleep(&moment, NULL);
}

static void be_ready(void **state, int waiting)
{
	char directory[PATH_MAX];

	pause_a_moment();
	if (getcwd(directory, sizeof(directory)) && strcmp(directory, "/") == 0 &&
	    getsid(0) == getpid())
		write_text(in_temp(state, "there").text, "");
	background_ready(waiting);
}

static void the_command_returns_when_the_child_is_ready(void **state)
{
	assert_int_equal(status_of(be_ready, state), 0);
	assert_true(exists(in_temp(state, "there").text));
}

static void give_up(void **state, int waiting)
{
	(void)state;
	(void)waiting;
	pause_a_moment();
}

static void a_child_that_ends_before_is_a_failure(void **state)
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

static void what_is_printed_goes_nowhere(void **state)
{
	assert_int_equal(status_of(be_quiet, state), 0);
	for (int tries = 0; tries < 50 && !exists(in_temp(state, "there").text); tries++)
		pause_a_moment();
	assert_true(exists(in_temp(state, "there").text));
}

UNIT_MAIN(temp_setup, temp_teardown)
