/* SPDX-License-Identifier: MIT */
/* unit.h - the head of every unit test: cmocka in its include order, asserts about errors,
 * allocations that fail on demand, and the GGUF builder. */
#ifndef TESTS_UNIT_H
#define TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gguf/error.h"
#include "tests/unit/mkgguf.h"

#define ARRAY_LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* Convert the size of an object in memory, which always fits. */
size_t to_size(uint64_t n);

/* Limit for a case without CPU time, which waits for ever. */
#define UNIT_IDLE_SECONDS 60

/* Limit for any case, which also suffices with sanitizers on a busy machine. */
#define UNIT_SECONDS 600

/* Set both limits before a case: a late program ends and names its file. The last line of cmocka
 * names the case. Processes that the case forks have no such limit. */
void unit_limit(const char *file);

/* A test file of the program; main() is in unit.c. */
struct unit_file {
	const char *name; /* test_X */
	int (*run)(void); /* returns the number of failed cases */
	struct unit_file *next;
};

/* Add a file, before main(). */
void unit_add(struct unit_file *file);

/* The last line of a test file: runs its cases, each with setup before it and teardown after it. A
 * case is a function with the signature static void NAME(void **state); a helper has another one.
 * tests/unit/cases.awk lists the cases as UNIT_CASES(setup, teardown), which make passes to the
 * compiler with UNIT_NAME. The test files of a folder are one program, and each run of it is for
 * one file: build/plain/tests/unit/FOLDER/tests test_X 'pattern' runs the matching cases. */
#define UNIT_MAIN(setup, teardown)                                                      \
	static int unit_setup(void **state)                                             \
	{                                                                               \
		int (*const unit_first)(void **) = setup;                               \
                                                                                        \
		unit_limit(__FILE__);                                                   \
		return unit_first ? unit_first(state) : 0;                              \
	}                                                                               \
                                                                                        \
	static int unit_run(void)                                                       \
	{                                                                               \
		const struct CMUnitTest cases[] = { UNIT_CASES(unit_setup, teardown) }; \
                                                                                        \
		return cmocka_run_group_tests_name(__FILE__, cases, NULL, NULL);        \
	}                                                                               \
                                                                                        \
	__attribute__((constructor)) static void unit_begin(void)                       \
	{                                                                               \
		static struct unit_file file = { UNIT_NAME, unit_run, NULL };           \
                                                                                        \
		unit_add(&file);                                                        \
	}

/* Check that low <= number <= high; a negative number is larger than all. cmocka's own macro has
 * another name in version 2, where the compiler warns of the old one. */
#define assert_between(value, low, high)                                                       \
	unit_assert_between((uintmax_t)(value), (uintmax_t)(low), (uintmax_t)(high), __FILE__, \
			    __LINE__)

void unit_assert_between(uintmax_t value, uintmax_t low, uintmax_t high, const char *file,
			 int line);

/* Check that a call failed with this code, and that err has the code, this place and a sentence. */
#define assert_refused(rc, err, code, offset) \
	unit_assert_refused(rc, err, code, offset, __FILE__, __LINE__)

void unit_assert_refused(int rc, const struct error *err, int code, uint64_t offset,
			 const char *file, int line);

/* assert_refused() with the place anywhere in [from, to). */
#define assert_refused_within(rc, err, code, from, to) \
	unit_assert_refused_within(rc, err, code, from, to, __FILE__, __LINE__)

void unit_assert_refused_within(int rc, const struct error *err, int code, uint64_t from,
				uint64_t to, const char *file, int line);

/* Failing allocations. With -Wl,--wrap=malloc, and so on for the others, functions of unit.c
 * replace the allocator; in a program without these options the tests skip.
 *
 *	for (k = 1;; k++) {
 *		allocation_fails(k);
 *		rc = call();
 *		if (!allocation_failed())
 *			break;			the call needs fewer than k: it has to succeed
 *		assert_refused(rc, ...);
 *	} */

/* Skip the test if the allocator is not wrapped. Call this first in a test, before it makes
 * anything. */
void needs_failing_allocations(void);

/* Number of the allocation that fails, counted from now: 1 is the next one, 0 none. */
extern uint64_t unit_allocation;

/* The k-th allocation from now on fails, once. */
void allocation_fails(uint64_t k);

/* Has the allocation failed? From here on none fails. */
bool allocation_failed(void);

/* The k-th fsync() from now on is not made and fails with EIO, once. */
void fsync_fails(uint64_t k);
void fsync_fails_from(uint64_t k); /* and all later ones, until fsync_failed() is called */

/* Has the fsync() failed? From here on none fails. */
bool fsync_failed(void);

#endif
