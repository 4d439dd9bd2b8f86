/* SPDX-License-Identifier: MIT */
/* fuzz_remote_answer.c - any bytes as the lines of an HTTP header: an accepted range lies in the
 * file, kept texts end within their buffers, and the lines of a redirect have no effect. */
#include "fs/storage/remote_answer.h"
#include "fuzz_help.h"

#include <string.h>

/* Take a line with its end, from a block of exactly its size. */
static size_t take_line(struct remote_answer *answer, const uint8_t *data, size_t size)
{
	const uint8_t *end = memchr(data, '\n', size);
	const size_t n = end ? (size_t)(end - data) + 1 : size;
	char *line = malloc(n);

	require(line != NULL);
	memcpy(line, data, n);
	remote_answer_line(answer, line, n);
	free(line);
	return n;
}

static void check(const struct remote_answer *answer)
{
	if (answer->has_range)
		require(answer->first <= answer->last && answer->last < answer->total &&
			answer->total <= INT64_MAX);
	require(memchr(answer->etag, '\0', sizeof(answer->etag)));
	require(memchr(answer->modified, '\0', sizeof(answer->modified)));
	require(!strpbrk(answer->etag, "\r\n") && !strpbrk(answer->modified, "\r\n"));
	require(answer->retry_after <= 3600);
	require(remote_answer_is_of(answer, answer));
}

/* Check that the same lines behind a redirect give the same answer, except for its bytes. */
static void check_redirect(const struct remote_answer *expected, const uint8_t *data, size_t size)
{
	static const char *const redirect[] = {
		"HTTP/1.1 302 Found\r\n",
		"ETag: \"of the redirect\"\r\n",
		"Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n",
		"Content-Range: bytes 3-4/5\r\n",
		"Content-Encoding: gzip\r\n",
		"Retry-After: 9\r\n",
		"HTTP/1.1 206 Partial Content\r\n",
	};
	struct remote_answer answer = { 0 }, plain = { 0 };

	for (size_t i = 0; i < sizeof(redirect) / sizeof(redirect[0]); i++)
		remote_answer_line(&answer, redirect[i], strlen(redirect[i]));
	remote_answer_line(&plain, "HTTP/1.1 206 Partial Content\r\n", 30);
	require(answer.bytes > plain.bytes);
	for (size_t at = 0, n; at < size; at += n) {
		n = take_line(&answer, data + at, size - at);
		require(take_line(&plain, data + at, size - at) == n);
	}
	plain.bytes = answer.bytes;
	require(answer.status == plain.status && answer.encoded == plain.encoded);
	require(answer.has_range == plain.has_range && answer.retry_after == plain.retry_after);
	require(!plain.has_range || (answer.first == plain.first && answer.last == plain.last &&
				     answer.total == plain.total));
	require(strcmp(answer.etag, plain.etag) == 0);
	require(strcmp(answer.modified, plain.modified) == 0);
	require(expected->bytes == size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct remote_answer answer = { 0 };

	for (size_t at = 0; at < size;) {
		at += take_line(&answer, data + at, size - at);
		check(&answer);
	}
	check_redirect(&answer, data, size);
	return 0;
}
