/* SPDX-License-Identifier: MIT */
/* test_helper_process.c - fs/util/helper_process.c: jobs run in a helper process. */
#include "fs/util/helper_process.h"
#include "tests/unit/temp_dir.h"

#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static void make_first(void *context)
{
	write_text(in_temp(context, "first").text, "");
}

static void make_second(void *context)
{
	write_text(in_temp(context, "second").text, "");
}

static void (*const functions[])(void *context) = { make_first, make_second };
static const struct helper_jobs jobs = { .jobs = functions, .n = 2, .orphaned = make_first };

static void each_job_is_done_when_the_call_returns(void **state)
{
	struct helper_process *helper = helper_process_new(&jobs, state, "a-helper");

	assert_non_null(helper);
	assert_int_equal(helper_process_run(helper, 1), 0);
	assert_true(exists(in_temp(state, "second").text));
	assert_false(exists(in_temp(state, "first").text));
	assert_int_equal(helper_process_run(helper, 0), 0);
	assert_true(exists(in_temp(state, "first").text));
	helper_process_free(helper);
	/* No child is left. */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void unknown_job_ends_the_helper(void **state)
{
	struct helper_process *helper = helper_process_new(&jobs, state, "a-helper");

	assert_non_null(helper);
	assert_int_equal(helper_process_run(helper, 2), -EIO);
	assert_int_equal(helper_process_run(helper, 0), -EIO);
	helper_process_free(helper);
}

/* When the parent is gone, the helper becomes this process's child, which sees its end. */
static void helper_finishes_its_jobs_after_parent_is_killed(void **state)
{
	struct helper_process *helper;
	pid_t parent;

	must(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0);
	parent = fork();
	if (parent == 0) {
		helper = helper_process_new(&jobs, state, "a-helper");
		if (helper && helper_process_run(helper, 1) == 0)
			raise(SIGKILL);
		_exit(1);
	}
	must(waitpid(parent, NULL, 0) == parent);
	assert_true(wait(NULL) > 0);
	must(prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) == 0);
	assert_true(exists(in_temp(state, "second").text));
	assert_true(exists(in_temp(state, "first").text));
}

static void kill_itself(void *context)
{
	(void)context;
	raise(SIGTERM);
	raise(SIGINT);
	write_text(in_temp(context, "first").text, "");
	raise(SIGKILL);
}

static void helper_ignores_signals_and_its_death_is_noticed(void **state)
{
	void (*const deadly[])(void *context) = { kill_itself };
	const struct helper_jobs one = { .jobs = deadly, .n = 1 };
	struct helper_process *helper = helper_process_new(&one, state, "a-helper");

	assert_non_null(helper);
	assert_int_equal(helper_process_run(helper, 0), -EIO);
	assert_true(exists(in_temp(state, "first").text));
	helper_process_free(helper);
}

static void helper_holds_no_file_lock(void **state)
{
	const struct path path = in_temp(state, "locked");
	struct helper_process *helper;
	int fd, again;

	write_text(path.text, "");
	fd = open(path.text, O_RDWR | O_CLOEXEC);
	must(flock(fd, LOCK_EX) == 0);
	helper = helper_process_new(&jobs, state, "a-helper");
	assert_non_null(helper);
	/* The helper has closed its copy by now. */
	assert_int_equal(helper_process_run(helper, 0), 0);
	close(fd);
	again = open(path.text, O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(again, LOCK_EX | LOCK_NB), 0);
	close(again);
	helper_process_free(helper);
}

static void print_title(void *context)
{
	char line[256];
	FILE *file = fopen("/proc/self/cmdline", "re");
	const size_t n = file ? fread(line, 1, sizeof(line) - 1, file) : 0;

	line[n] = '\0';
	if (file)
		fclose(file);
	write_text(in_temp(context, "first").text, line);
}

static void helper_has_its_own_process_title(void **state)
{
	void (*const printing[])(void *context) = { print_title };
	const struct helper_jobs one = { .jobs = printing, .n = 1 };
	struct helper_process *helper = helper_process_new(&one, state, "a-helper");

	assert_non_null(helper);
	assert_int_equal(helper_process_run(helper, 0), 0);
	helper_process_free(helper);
	assert_file(in_temp(state, "first").text, "a-helper", strlen("a-helper"));
}

static void without_memory_there_is_no_helper(void **state)
{
	needs_failing_allocations();
	allocation_fails(1);
	assert_null(helper_process_new(&jobs, state, "a-helper"));
	assert_true(allocation_failed());
	helper_process_free(NULL);
}

UNIT_MAIN(temp_setup, temp_teardown)
