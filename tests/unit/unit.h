/* SPDX-License-Identifier: MIT */
/* unit.h - the head of every unit test: cmocka in its include order, asserts about errors,
 * the k-th allocation failing, and the GGUF builder. */
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

/* A case that used no processor for so long waits for ever. */
#define UNIT_IDLE_SECONDS 60

/* No case takes so long, with sanitizers on a busy machine either. */
#define UNIT_SECONDS 600

/* Before each case: the program ends, and says which file it is of, if one of these is over. The
 * last line that cmocka printed names the case. A process that the case forks has no such limit. */
void unit_limit(const char *file);

/* A test file of the program; main() is in unit.c. */
struct unit_file {
	const char *name; /* test_X */
	int (*run)(void); /* returns how many cases failed */
	struct unit_file *next;
};

/* Before main(). */
void unit_add(struct unit_file *file);

/* The last line of a test file: runs its cases, each with setup before it and teardown after it. A
 * case is a function with the signature static void NAME(void **state), a helper has another:
 * tests/unit/cases.awk lists the cases as UNIT_CASES(setup, teardown), which make gives to the
 * compiler before the file, with UNIT_NAME.
 * The test files of a folder are one program, and each run of it is for one of them:
 * build/plain/tests/unit/FOLDER/tests test_X 'pattern' runs the matching cases. */
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

/* The number is at least low and at most high; a negative one is larger than every other. cmocka's
 * own has another name in version 2, where the compiler warns of it. */
#define assert_between(value, low, high)                                                       \
	unit_assert_between((uintmax_t)(value), (uintmax_t)(low), (uintmax_t)(high), __FILE__, \
			    __LINE__)

void unit_assert_between(uintmax_t value, uintmax_t low, uintmax_t high, const char *file,
			 int line);

/* The call failed with this code, said so in err with this place, and with a sentence. */
#define assert_refused(rc, err, code, offset) \
	unit_assert_refused(rc, err, code, offset, __FILE__, __LINE__)

void unit_assert_refused(int rc, const struct error *err, int code, uint64_t offset,
			 const char *file, int line);

/* The same, with the place somewhere in [from, to). */
#define assert_refused_within(rc, err, code, from, to) \
	unit_assert_refused_within(rc, err, code, from, to, __FILE__, __LINE__)

void unit_assert_refused_within(int rc, const struct error *err, int code, uint64_t from,
				uint64_t to, const char *file, int line);

/* Failing allocations. Linked with -Wl,--wrap=malloc, and so on for the others, functions of unit.c
 * stand in for the allocator; linked without, tests skip.
 *
 *	for (k = 1;; k++) {
 *		allocation_fails(k);
 *		rc = call();
 *		if (!allocation_failed())
 *			break;			the call needs fewer than k: it has to succeed
 *		assert_refused(rc, ...);
 *	} */

/* Skips the test where the allocator is not wrapped. The first thing in a test, so that nothing it
 * made is lost. */
void needs_failing_allocations(void);

/* The allocation that fails, counted from now: 1 is the next one, 0 none. */
extern uint64_t unit_allocation;

/* The k-th allocation from now on fails, once. */
void allocation_fails(uint64_t k);

/* Has it failed? From here on none does. */
bool allocation_failed(void);

/* The k-th fsync() from now on fails with EIO, once; it has not been made. */
void fsync_fails(uint64_t k);
void fsync_fails_from(uint64_t k); /* and all after it, until fsync_failed() is called */

/* Has it failed? From here on none does. */
bool fsync_failed(void);

#endif
