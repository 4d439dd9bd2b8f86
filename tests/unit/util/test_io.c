/* SPDX-License-Identifier: MIT */
/* test_io.c - fs/util/io.c: all of what there is, however it comes. */
#include "fs/util/io.h"
#include "tests/unit/unit.h"

#include <signal.h>
#include <sys/time.h>

static const char words[] = "all of it";

static int pipe_in = -1;

/* The third one is the end of the text. */
static void on_alarm(int signal)
{
	static int calls;

	(void)signal;
	if (++calls < 3 || pipe_in < 0)
		return;
	if (write(pipe_in, words, strlen(words)) > 0)
		close(pipe_in);
	pipe_in = -1;
}

static void a_signal_does_not_end_a_read(void **state)
{
	const struct sigaction action = { .sa_handler = on_alarm };
	const struct itimerval often = { { 0, 20000 }, { 0, 20000 } },
			       never = { { 0, 0 }, { 0, 0 } };
	struct sigaction before;
	int ends[2];
	size_t size;
	char *text;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	pipe_in = ends[1];
	assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
	assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
	text = io_read_all(ends[0], &size);
	assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
	assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
	assert_non_null(text);
	assert_int_equal(size, strlen(words));
	assert_string_equal(text, words);
	free(text);
	close(ends[0]);
}

static void long_files_and_empty_ones_are_read(void **state)
{
	static const size_t sizes[] = { 0, 1, 65534, 65535, 65536, 300000 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
		FILE *file = tmpfile();
		size_t size;
		char *text;

		assert_non_null(file);
		for (size_t k = 0; k < sizes[i]; k++)
			fputc('a' + (int)(k % 26), file);
		assert_int_equal(fflush(file), 0);
		rewind(file);
		text = io_read_all(fileno(file), &size);
		assert_non_null(text);
		assert_int_equal(size, sizes[i]);
		assert_int_equal(text[size], '\0');
		for (size_t k = 0; k < size; k++)
			assert_int_equal(text[k], 'a' + (int)(k % 26));
		free(text);
		fclose(file);
	}
	assert_null(io_read_all(-1, &(size_t){ 0 }));
	assert_int_equal(errno, EBADF);
}

static void what_lies_before_the_end_is_read_and_flags_are_for_the_kernel(void **state)
{
	FILE *file = tmpfile();
	char bytes[20];

	(void)state;
	assert_non_null(file);
	fputs(words, file);
	assert_int_equal(fflush(file), 0);
	assert_int_equal(io_read(fileno(file), bytes, 3, 4), 3);
	assert_memory_equal(bytes, words + 4, 3);
	assert_int_equal(io_read(fileno(file), bytes, sizeof(bytes), 4), strlen(words) - 4);
	assert_int_equal(io_read(fileno(file), bytes, 1, strlen(words)), 0);
	/* No kernel has that one. */
	assert_int_equal(io_read_with(fileno(file), 1 << 30, bytes, 1, 0), -EOPNOTSUPP);
	fclose(file);
	assert_int_equal(io_read(-1, bytes, 1, 0), -EBADF);
}

UNIT_MAIN(NULL, NULL)
