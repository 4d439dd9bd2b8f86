/* SPDX-License-Identifier: MIT */
/* child.h - run an irreversible step of a test in a child process. */
#ifndef TESTS_UNIT_CHILD_H
#define TESTS_UNIT_CHILD_H

/* In the child: the expression has to be true, or the child ends and says its line. */
#define child_must(expression) \
	((expression) ? (void)0 : child_fail(__FILE__, __LINE__, #expression))

__attribute__((noreturn)) void child_fail(const char *file, int line, const char *expression);

/* Called by a child whose test lacks a right that it needs. */
__attribute__((noreturn)) void child_skip(void);

/* Run it in a child, with context. It has to return, unless it skips: then the test is skipped. */
void in_child(void (*run)(void *context), void *context);

#endif
