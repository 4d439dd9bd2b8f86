/* SPDX-License-Identifier: MIT */
/* test_io.c - fs/util/io.c: whole reads and writes, in any pieces. */
#include "fs/util/io.h"
#include "tests/unit/tasks.h"
#include "tests/unit/unit.h"

#include <signal.h>
#include <unistd.h>

static const char words[] = "all of it";

static void go_on(int signal)
{
	(void)signal;
}

struct writer {
	pthread_t reader;
	int end; /* end of a pipe */
};

/* Signal the reader, the first thread, three times before the text is written. */
static void *write_words(void *argument)
{
	const struct writer *writer = argument;

	for (int i = 0; i < 3; i++) {
		while (task_state(getpid()) != 'S')
			tick();
		pthread_kill(writer->reader, SIGUSR1);
	}
	if (write(writer->end, words, strlen(words)) > 0)
		close(writer->end);
	return NULL;
}

static void a_signal_does_not_end_a_read(void **state)
{
	const struct sigaction action = { .sa_handler = go_on };
	struct writer writer = { .reader = pthread_self() };
	struct sigaction before;
	struct task task;
	int ends[2];
	size_t size;
	char *text;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	writer.end = ends[1];
	assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
	task_begin(&task, write_words, &writer);
	text = io_read_all(ends[0], &size);
	task_end(&task);
	assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
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

static void read_stops_at_end_and_passes_flags_to_kernel(void **state)
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
	/* No kernel knows that flag. */
	assert_int_equal(io_read_with(fileno(file), 1 << 30, bytes, 1, 0), -EOPNOTSUPP);
	fclose(file);
	assert_int_equal(io_read(-1, bytes, 1, 0), -EBADF);
}

UNIT_MAIN(NULL, NULL)
