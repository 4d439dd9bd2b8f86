/* SPDX-License-Identifier: MIT */
/* child.h - what a process cannot take back is tried in a child. */
#ifndef TESTS_UNIT_CHILD_H
#define TESTS_UNIT_CHILD_H

/* In the child: the expression has to be true, or the child ends and says its line. */
#define child_must(expression) \
	((expression) ? (void)0 : child_fail(__FILE__, __LINE__, #expression))

__attribute__((noreturn)) void child_fail(const char *file, int line, const char *expression);

/* What a child calls that needs a right which the test lacks. */
__attribute__((noreturn)) void child_skip(void);

/* Run it in a child, with context. It has to return, unless it skips: then the test is skipped. */
void in_child(void (*run)(void *context), void *context);

#endif
