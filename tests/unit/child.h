/* SPDX-License-Identifier: MIT */
/* child.h - run an irreversible step of a test in a child process. */
#ifndef TESTS_UNIT_CHILD_H
#define TESTS_UNIT_CHILD_H

/* In the child: if the expression is false, print its line and end the child. */
#define child_must(expression) \
	((expression) ? (void)0 : child_fail(__FILE__, __LINE__, #expression))

__attribute__((noreturn)) void child_fail(const char *file, int line, const char *expression);

/* A child calls this if its test lacks a necessary right. */
__attribute__((noreturn)) void child_skip(void);

/* Call run(context) in a child. It must return, or skip, which skips the test. */
void in_child(void (*run)(void *context), void *context);

#endif
