/* SPDX-License-Identifier: MIT */
/* test_log.c - fs/util/log.c: kept lines, and their format. */
#include "fs/util/log.h"
#include "tests/unit/temp_dir.h"

#include <pthread.h>

static char *text_of(struct log *log)
{
	size_t size;
	char *text = log_text(log, &size), *copy;

	assert_non_null(text);
	copy = strndup(text, size);
	assert_int_equal(strlen(copy), size);
	free(text);
	return copy;
}

static size_t count_lines(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static void an_empty_log_is_an_empty_text(void **state)
{
	struct log *log = log_new(true);
	char *text = text_of(log);

	(void)state;
	assert_string_equal(text, "");
	assert_int_equal(log_count(log), 0);
	free(text);
	log_free(log);
}

static void a_line_is_a_time_and_the_message(void **state)
{
	struct log *log = log_new(true);
	int year, month, day, hour, minute, second, at = 0;
	char *text;

	(void)state;
	log_add(log, "%s: %d grafts", "model", 3);
	text = text_of(log);
	sscanf(text, "%4d-%2d-%2d %2d:%2d:%2d %n", &year, &month, &day, &hour, &minute, &second,
	       &at);
	assert_int_equal(at, strlen("2000-01-01 00:00:00 "));
	assert_string_equal(text + at, "model: 3 grafts\n");
	free(text);
	log_free(log);
}

static void message_with_any_bytes_is_one_line(void **state)
{
	struct log *log = log_new(true);
	char *text;

	(void)state;
	log_add(log, "a\nb\tc\x7f\x1b[2J\rd");
	text = text_of(log);
	assert_int_equal(count_lines(text), 1);
	assert_non_null(strstr(text, " a?b?c??[2J?d\n"));
	free(text);
	log_free(log);
}

static void bytes_above_ascii_are_left_as_they_are(void **state)
{
	struct log *log = log_new(true);
	char *text;

	(void)state;
	log_add(log, "\xce\xb8 \xff");
	text = text_of(log);
	assert_non_null(strstr(text, " \xce\xb8 \xff\n"));
	free(text);
	log_free(log);
}

static void a_long_message_is_kept_whole(void **state)
{
	struct log *log = log_new(true);
	char *text, *message = malloc(20001);

	(void)state;
	memset(message, 'x', 20000);
	message[20000] = '\0';
	log_add(log, "%s", message);
	text = text_of(log);
	assert_non_null(strstr(text, message));
	free(message);
	free(text);
	log_free(log);
}

static void the_last_thousand_are_kept_oldest_first(void **state)
{
	struct log *log = log_new(true);
	char *text, *line, words[32];

	(void)state;
	for (int i = 0; i < 2345; i++)
		log_add(log, "message %d", i);
	assert_int_equal(log_count(log), 2345);
	text = text_of(log);
	assert_int_equal(count_lines(text), 1000);
	line = text;
	for (int i = 1345; i < 2345; i++) {
		snprintf(words, sizeof(words), " message %d\n", i);
		line = strstr(line, words);
		assert_non_null(line);
	}
	free(text);
	log_free(log);
}

static void messages_go_to_stderr_without_their_time(void **state)
{
	struct log *log = log_new(true);

	log_add(log, "graft refused");
	fflush(stderr);
	assert_file(in_temp(state, "stderr").text, "organfs: graft refused\n", 23);
	log_free(log);
}

static void messages_of_paused_log_appear_when_it_resumes(void **state)
{
	static const char text[] = "organfs: one\norganfs: two\norganfs: three\n";
	struct log *log = log_new(true);

	log_add(log, "one");
	log_pause(log);
	log_add(log, "two");
	log_report(log, "three");
	fflush(stderr);
	assert_file(in_temp(state, "stderr").text, text, strlen("organfs: one\n"));
	log_resume(log);
	fflush(stderr);
	assert_file(in_temp(state, "stderr").text, text, strlen(text));
	log_free(log);
}

static void count_call(void *context)
{
	++*(unsigned *)context;
}

static void a_listener_hears_of_messages_of_children_too(void **state)
{
	struct log *log = log_new(true), *child = log_new_child(log, "child");
	unsigned calls = 0;

	(void)state;
	log_set_listener(log, count_call, &calls);
	log_add(log, "one");
	assert_int_equal(calls, 1);
	log_add(child, "two");
	assert_int_equal(calls, 2);
	log_set_listener(log, NULL, NULL);
	log_add(log, "three");
	assert_int_equal(calls, 2);
	log_free(child);
	log_free(log);
}

static void the_last_message_is_found_by_its_title(void **state)
{
	struct log *log = log_new(true);
	char *last;

	(void)state;
	assert_null(log_last(log, ""));
	log_add(log, "organs/blk_1.bin: first");
	log_add(log, "organs/blk_1.bin: second");
	log_add(log, "organs/blk_10.bin: third");
	log_add(log, "norm/x.bin: fourth");
	last = log_last(log, "organs/blk_1.bin");
	assert_string_equal(last, "organs/blk_1.bin: second");
	free(last);
	last = log_last(log, "organs");
	assert_string_equal(last, "organs/blk_10.bin: third");
	free(last);
	last = log_last(log, "");
	assert_string_equal(last, "norm/x.bin: fourth");
	free(last);
	assert_null(log_last(log, "organ"));
	for (int i = 0; i < 1000; i++)
		log_add(log, "message");
	assert_null(log_last(log, "organs"));
	log_free(log);
}

static void *add_many(void *argument)
{
	for (int i = 0; i < 400; i++)
		log_add(argument, "message %d", i);
	return NULL;
}

static void threads_may_add_and_read_at_once(void **state)
{
	struct log *log = log_new(true);
	pthread_t threads[4];
	char *text;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, add_many, log), 0);
	for (int i = 0; i < 50; i++)
		free(text_of(log));
	for (size_t i = 0; i < ARRAY_LENGTH(threads); i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(log_count(log), 1600);
	text = text_of(log);
	assert_int_equal(count_lines(text), 1000);
	free(text);
	log_free(log);
}

UNIT_MAIN(temp_setup, temp_teardown)
