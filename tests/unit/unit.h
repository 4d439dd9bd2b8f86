/* SPDX-License-Identifier: MIT */
/* unit.h - what every unit test begins with: cmocka in its include order, asserts about errors,
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

/* What is in memory here has a size that fits. */
static inline size_t to_size(uint64_t n)
{
	assert_true(n <= SIZE_MAX);
	return (size_t)n;
}

/* Arguments of a file's main(): build/plain/tests/unit/test_X 'pattern' runs the matching cases. */
#define UNIT_MAIN(tests)                                                         \
	int main(int argc, char **argv)                                          \
	{                                                                        \
		cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);               \
		return cmocka_run_group_tests_name(__FILE__, tests, NULL, NULL); \
	}

/* The number is at least low and at most high; a negative one is larger than every other. cmocka's
 * own has another name in version 2, where the compiler warns of it. */
#define assert_between(value, low, high)                                                       \
	unit_assert_between((uintmax_t)(value), (uintmax_t)(low), (uintmax_t)(high), __FILE__, \
			    __LINE__)

static inline void unit_assert_between(uintmax_t value, uintmax_t low, uintmax_t high,
				       const char *file, int line)
{
	if (value >= low && value <= high)
		return;
	print_error("%ju is not between %ju and %ju\n", value, low, high);
	_fail(file, line);
}

/* The call failed with this code, said so in err with this place, and with a sentence. */
#define assert_refused(rc, err, code, offset) \
	unit_assert_refused(rc, err, code, offset, __FILE__, __LINE__)

static inline void unit_assert_refused(int rc, const struct error *err, int code, uint64_t offset,
				       const char *file, int line)
{
	if (rc == -code && err->code == code && err->offset == offset && err->text[0])
		return;
	print_error("expected code %d at byte %lld, got rc %d, code %d at byte %lld: %s\n", code,
		    (long long)offset, rc, err->code, (long long)err->offset, err->text);
	_fail(file, line);
}

/* The same, with the place somewhere in [from, to). */
#define assert_refused_within(rc, err, code, from, to) \
	unit_assert_refused_within(rc, err, code, from, to, __FILE__, __LINE__)

static inline void unit_assert_refused_within(int rc, const struct error *err, int code,
					      uint64_t from, uint64_t to, const char *file,
					      int line)
{
	unit_assert_refused(rc, err, code, err->offset, file, line);
	if (err->offset >= from && err->offset < to)
		return;
	print_error("expected an offset in [%lld, %lld), got %lld: %s\n", (long long)from,
		    (long long)to, (long long)err->offset, err->text);
	_fail(file, line);
}

/* Failing allocations. Linked with -Wl,--wrap=malloc, and so on for all that follow, the functions
 * below stand in for the allocator; linked without, __real_malloc is NULL and tests skip.
 *
 *	for (k = 1;; k++) {
 *		allocation_fails(k);
 *		rc = call();
 *		if (!allocation_failed())
 *			break;			the call needs fewer than k: it has to succeed
 *		assert_refused(rc, ...);
 *	} */
void *__real_malloc(size_t n) __attribute__((weak));
void *__real_calloc(size_t count, size_t n) __attribute__((weak));
void *__real_realloc(void *block, size_t n) __attribute__((weak));
void *__real_reallocarray(void *block, size_t count, size_t n) __attribute__((weak));
char *__real_strdup(const char *text) __attribute__((weak));
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t count, size_t n);
void *__wrap_realloc(void *block, size_t n);
void *__wrap_reallocarray(void *block, size_t count, size_t n);
char *__wrap_strdup(const char *text);

/* The allocation that fails, counted from now: 1 is the next one, 0 none. */
extern uint64_t unit_allocation;
__attribute__((weak)) uint64_t unit_allocation;

static inline bool unit_allocation_fails(void)
{
	return unit_allocation && --unit_allocation == 0;
}

__attribute__((weak)) void *__wrap_malloc(size_t n)
{
	return unit_allocation_fails() ? NULL : __real_malloc(n);
}

__attribute__((weak)) void *__wrap_calloc(size_t count, size_t n)
{
	return unit_allocation_fails() ? NULL : __real_calloc(count, n);
}

__attribute__((weak)) void *__wrap_realloc(void *block, size_t n)
{
	return unit_allocation_fails() ? NULL : __real_realloc(block, n);
}

__attribute__((weak)) void *__wrap_reallocarray(void *block, size_t count, size_t n)
{
	return unit_allocation_fails() ? NULL : __real_reallocarray(block, count, n);
}

__attribute__((weak)) char *__wrap_strdup(const char *text)
{
	return unit_allocation_fails() ? NULL : __real_strdup(text);
}

/* Skips the test where the allocator is not wrapped. The first thing in a test, so that nothing it
 * made is lost. */
static inline void needs_failing_allocations(void)
{
	if (!__real_malloc)
		skip();
}

/* The k-th allocation from now on fails, once. */
static inline void allocation_fails(uint64_t k)
{
	unit_allocation = k;
}

/* Has it failed? From here on none does. */
static inline bool allocation_failed(void)
{
	const bool failed = unit_allocation == 0;

	unit_allocation = 0;
	return failed;
}

/* The k-th fsync() from now on fails with EIO, once; it has not been made. */
int __real_fsync(int fd) __attribute__((weak));
int __wrap_fsync(int fd);
extern uint64_t unit_fsync;
__attribute__((weak)) uint64_t unit_fsync;

__attribute__((weak)) int __wrap_fsync(int fd)
{
	if (!unit_fsync || --unit_fsync)
		return __real_fsync(fd);
	errno = EIO;
	return -1;
}

static inline void fsync_fails(uint64_t k)
{
	unit_fsync = k;
}

/* Has it failed? From here on none does. */
static inline bool fsync_failed(void)
{
	const bool failed = unit_fsync == 0;

	unit_fsync = 0;
	return failed;
}

#endif
