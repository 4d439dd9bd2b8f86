/* SPDX-License-Identifier: MIT */
/* child.c - see child.h. */
#include "tests/unit/child.h"
#include "tests/unit/unit.h"

#include <sys/wait.h>
#include <unistd.h>

enum { SKIPPED = 77, FAILED = 1 };

void child_fail(const char *file, int line, const char *expression)
{
	dprintf(STDOUT_FILENO, "%s:%d: not true in the child: %s (%s)\n", file, line, expression,
		strerror(errno));
	_exit(FAILED);
}

void child_skip(void)
{
	_exit(SKIPPED);
}

void in_child(void (*run)(void *context), void *context)
{
	const pid_t child = fork();
	int status = -1;

	assert_true(child >= 0);
	if (child == 0) {
		run(context);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == SKIPPED)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}
