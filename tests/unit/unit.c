/* SPDX-License-Identifier: MIT */
/* unit.c - see unit.h. */
#include "tests/unit/unit.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

static struct unit_file *files, **last_file = &files;

void unit_add(struct unit_file *file)
{
	*last_file = file;
	last_file = &file->next;
}

/* tests test_X [PATTERN]: run a test file; without that file list all, and fail. */
int main(int argc, char **argv)
{
	for (struct unit_file *file = files; file && argc > 1; file = file->next)
		if (strcmp(file->name, argv[1]) == 0) {
			cmocka_set_test_filter(argv[2]);
			return file->run();
		}
	if (argc > 1)
		fprintf(stderr, "%s: no such test file: %s\n", argv[0], argv[1]);
	for (struct unit_file *file = files; file; file = file->next)
		puts(file->name);
	return 2;
}

static const char *limited;
static struct timeval used; /* CPU time when the alarm was set */
static unsigned turns;

static struct timeval processor_time(void)
{
	struct rusage usage;
	struct timeval sum;

	getrusage(RUSAGE_SELF, &usage);
	timeradd(&usage.ru_utime, &usage.ru_stime, &sum);
	return sum;
}

static void set_alarm(void)
{
	used = processor_time();
	alarm(UNIT_IDLE_SECONDS);
}

/* Print to standard output, because standard error may be a file of the case. */
static void end_by_limit(int number)
{
	static const char text[] = ": the case did not end in time\n";
	const struct timeval moment = { .tv_usec = 100000 }, now = processor_time();
	struct timeval since;

	(void)number;
	timersub(&now, &used, &since);
	if (timercmp(&since, &moment, >) && ++turns < UNIT_SECONDS / UNIT_IDLE_SECONDS) {
		set_alarm();
		return;
	}
	if (write(STDOUT_FILENO, limited, strlen(limited)) > 0 &&
	    write(STDOUT_FILENO, text, strlen(text)) > 0)
		_exit(1);
	_exit(2);
}

void unit_limit(const char *file)
{
	limited = file;
	turns = 0;
	signal(SIGALRM, end_by_limit);
	set_alarm();
}

size_t to_size(uint64_t n)
{
	assert_true(n <= SIZE_MAX);
	return (size_t)n;
}

void unit_assert_between(uintmax_t value, uintmax_t low, uintmax_t high, const char *file, int line)
{
	if (value >= low && value <= high)
		return;
	print_error("%ju is not between %ju and %ju\n", value, low, high);
	_fail(file, line);
}

void unit_assert_refused(int rc, const struct error *err, int code, uint64_t offset,
			 const char *file, int line)
{
	if (rc == -code && err->code == code && err->offset == offset && err->text[0])
		return;
	print_error("expected code %d at byte %lld, got rc %d, code %d at byte %lld: %s\n", code,
		    (long long)offset, rc, err->code, (long long)err->offset, err->text);
	_fail(file, line);
}

void unit_assert_refused_within(int rc, const struct error *err, int code, uint64_t from,
				uint64_t to, const char *file, int line)
{
	unit_assert_refused(rc, err, code, err->offset, file, line);
	if (err->offset >= from && err->offset < to)
		return;
	print_error("expected an offset in [%lld, %lld), got %lld: %s\n", (long long)from,
		    (long long)to, (long long)err->offset, err->text);
	_fail(file, line);
}

void *__real_malloc(size_t n) __attribute__((weak));
void *__real_calloc(size_t count, size_t n) __attribute__((weak));
void *__real_realloc(void *block, size_t n) __attribute__((weak));
void *__real_reallocarray(void *block, size_t count, size_t n) __attribute__((weak));
char *__real_strdup(const char *text) __attribute__((weak));
int __real_fsync(int fd) __attribute__((weak));
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t count, size_t n);
void *__wrap_realloc(void *block, size_t n);
void *__wrap_reallocarray(void *block, size_t count, size_t n);
char *__wrap_strdup(const char *text);
int __wrap_fsync(int fd);

uint64_t unit_allocation;
/* Number of the fsync() that fails, like unit_allocation. */
static uint64_t unit_fsync;
static bool unit_fsync_goes, unit_fsync_gone; /* all later calls fail too */

static bool unit_allocation_fails(void)
{
	return unit_allocation && --unit_allocation == 0;
}

void *__wrap_malloc(size_t n)
{
	return unit_allocation_fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t count, size_t n)
{
	return unit_allocation_fails() ? NULL : __real_calloc(count, n);
}

void *__wrap_realloc(void *block, size_t n)
{
	return unit_allocation_fails() ? NULL : __real_realloc(block, n);
}

void *__wrap_reallocarray(void *block, size_t count, size_t n)
{
	return unit_allocation_fails() ? NULL : __real_reallocarray(block, count, n);
}

char *__wrap_strdup(const char *text)
{
	return unit_allocation_fails() ? NULL : __real_strdup(text);
}

void needs_failing_allocations(void)
{
	if (!__real_malloc)
		skip();
}

void allocation_fails(uint64_t k)
{
	unit_allocation = k;
}

bool allocation_failed(void)
{
	const bool failed = unit_allocation == 0;

	unit_allocation = 0;
	return failed;
}

int __wrap_fsync(int fd)
{
	if (!unit_fsync_gone && (!unit_fsync || --unit_fsync))
		return __real_fsync(fd);
	unit_fsync_gone = unit_fsync_goes;
	errno = EIO;
	return -1;
}

void fsync_fails(uint64_t k)
{
	unit_fsync = k;
}

void fsync_fails_from(uint64_t k)
{
	unit_fsync = k;
	unit_fsync_goes = true;
}

bool fsync_failed(void)
{
	const bool failed = unit_fsync == 0;

	unit_fsync = 0;
	unit_fsync_goes = unit_fsync_gone = false;
	return failed;
}
