/* SPDX-License-Identifier: MIT */
/* test_remote_answer.c - fs/storage/remote_answer.c: parsed headers, and wrong ones. */
#include "fs/storage/remote_answer.h"
#include "tests/unit/unit.h"

static void add(struct remote_answer *answer, const char *line)
{
	remote_answer_line(answer, line, strlen(line));
}

static void partial_answer_is_parsed(void **state)
{
	struct remote_answer answer = { 0 };

	(void)state;
	add(&answer, "HTTP/1.1 206 Partial Content\r\n");
	add(&answer, "content-range:  bytes 5-9/100 \r\n");
	add(&answer, "ETag: \"abc\"\r\n");
	add(&answer, "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n");
	add(&answer, "Retry-After: 7\r\n");
	add(&answer, "Content-Encoding: identity\r\n");
	add(&answer, "\r\n");
	assert_int_equal(answer.status, 206);
	assert_true(answer.has_range);
	assert_int_equal(answer.first, 5);
	assert_int_equal(answer.last, 9);
	assert_int_equal(answer.total, 100);
	assert_string_equal(answer.etag, "\"abc\"");
	assert_string_equal(answer.modified, "Sun, 06 Nov 1994 08:49:37 GMT");
	assert_int_equal(answer.retry_after, 7);
	assert_false(answer.encoded);
}

static void a_redirect_is_forgotten(void **state)
{
	struct remote_answer answer = { 0 };

	(void)state;
	add(&answer, "HTTP/1.1 302 Found\r\n");
	add(&answer, "ETag: \"one\"\r\n");
	add(&answer, "Content-Encoding: gzip\r\n");
	add(&answer, "HTTP/2 206\r\n");
	assert_int_equal(answer.status, 206);
	assert_string_equal(answer.etag, "");
	assert_false(answer.encoded);
	assert_between(answer.bytes, 50, 100);
}

static void impossible_ranges_are_ignored(void **state)
{
	static const char *const wrong[] = {
		"bytes 5-4/100",
		"bytes 5-100/100",
		"bytes 5-9/*",
		"bytes */100",
		"bytes 5-9/",
		"bytes -9/100",
		"bytes 5-9/100x",
		"bytes 0-9/18446744073709551616",
		"bytes 0-9/9223372036854775808",
		"octets 0-9/100",
		"",
	};
	char line[128];

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
		struct remote_answer answer = { 0 };

		snprintf(line, sizeof(line), "Content-Range: %s\r\n", wrong[i]);
		add(&answer, line);
		assert_false(answer.has_range);
	}
}

static void lines_that_are_too_long_or_broken_are_passed_over(void **state)
{
	struct remote_answer answer = { 0 };
	char line[1024];

	(void)state;
	memset(line, 'x', sizeof(line));
	remote_answer_line(&answer, line, sizeof(line));
	memcpy(line, "ETag: \"", 7);
	line[400] = '\0';
	add(&answer, line); /* exceeds the limit of an ETag */
	remote_answer_line(&answer, "ETag: a\0b", 9);
	add(&answer, "ETag: \"a\rLast-Modified: then\"\r\n");
	add(&answer, "Last-Modified: then\r\nETag: a\r\n");
	remote_answer_line(&answer, "", 0);
	add(&answer, "ETag");
	add(&answer, "HTTP/1.1");
	assert_int_equal(answer.status, 0);
	assert_string_equal(answer.etag, "");
	assert_string_equal(answer.modified, "");
}

static void file_is_identified_by_size_and_stamp(void **state)
{
	const struct remote_answer first = { .total = 9, .etag = "\"a\"", .modified = "then" };
	const struct remote_answer dated = { .total = 9, .modified = "then" };
	struct remote_answer answer = first;

	(void)state;
	strcpy(answer.modified, "later");
	assert_true(remote_answer_is_of(&answer, &first));
	assert_false(remote_answer_is_of(&answer, &dated));
	answer.total = 8;
	assert_false(remote_answer_is_of(&answer, &first));
	assert_true(remote_answer_is_of(&first, &dated));
	assert_false(remote_answer_is_of(&dated, &first));
}

UNIT_MAIN(NULL, NULL)
