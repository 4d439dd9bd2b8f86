/* SPDX-License-Identifier: MIT */
/* remote_answer.c - see remote_answer.h. */
#include "fs/storage/remote_answer.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* greatest size of a file */
#define COUNT_MAX ((uint64_t)INT64_MAX)

/* Parse the digits at *at, which moves to their end. False: none, or too many. */
static bool take_number(const char **at, uint64_t *number)
{
	const char *start = *at;

	*number = 0;
	for (; **at >= '0' && **at <= '9'; (*at)++) {
		const uint64_t digit = (uint64_t)(**at - '0');

		if (*number > (COUNT_MAX - digit) / 10)
			return false;
		*number = *number * 10 + digit;
	}
	return *at > start;
}

static bool take(const char **at, const char *text)
{
	const size_t n = strlen(text);

	if (strncasecmp(*at, text, n) != 0)
		return false;
	*at += n;
	return true;
}

/* "bytes 0-1023/146515" */
static void take_range(struct remote_answer *answer, const char *value)
{
	answer->has_range = take(&value, "bytes ") && take_number(&value, &answer->first) &&
			    take(&value, "-") && take_number(&value, &answer->last) &&
			    take(&value, "/") && take_number(&value, &answer->total) && !*value &&
			    answer->first <= answer->last && answer->last < answer->total;
}

static void copy(char *to, size_t room, const char *value)
{
	const size_t n = strlen(value);

	to[0] = '\0';
	if (n < room)
		memcpy(to, value, n + 1);
}

/* "HTTP/1.1 206 Partial Content", "HTTP/2 206". */
static void take_status(struct remote_answer *answer, const char *line)
{
	const char *blank = strchr(line, ' ');
	const size_t bytes = answer->bytes;

	*answer = (struct remote_answer){ .bytes = bytes };
	if (blank)
		answer->status = (unsigned)strtoul(blank + 1, NULL, 10);
}

/* curl may cut the last line of a header. */
void remote_answer_line(struct remote_answer *answer, const char *bytes, size_t n)
{
	char line[512];
	const char *value = line;
	uint64_t seconds;

	answer->bytes += n;
	if (n >= sizeof(line) || memchr(bytes, '\0', n))
		return;
	memcpy(line, bytes, n);
	line[n] = '\0';
	while (n && strchr("\r\n \t", line[n - 1]))
		line[--n] = '\0';
	/* RFC 9110, section 5.5: a field that has one within is invalid. */
	if (strpbrk(line, "\r\n"))
		return;
	if (take(&value, "HTTP/")) {
		take_status(answer, line);
		return;
	}
	value = strchr(line, ':');
	if (!value)
		return;
	value += 1 + strspn(value + 1, " \t");
	if (strncasecmp(line, "Content-Range:", 14) == 0)
		take_range(answer, value);
	else if (strncasecmp(line, "Content-Encoding:", 17) == 0)
		answer->encoded = strcasecmp(value, "identity") != 0;
	else if (strncasecmp(line, "ETag:", 5) == 0)
		copy(answer->etag, sizeof(answer->etag), value);
	else if (strncasecmp(line, "Last-Modified:", 14) == 0)
		copy(answer->modified, sizeof(answer->modified), value);
	else if (strncasecmp(line, "Retry-After:", 12) == 0 && take_number(&value, &seconds))
		answer->retry_after = seconds < 3600 ? (unsigned)seconds : 3600;
}

bool remote_answer_is_of(const struct remote_answer *answer, const struct remote_answer *first)
{
	if (answer->total != first->total)
		return false;
	if (first->etag[0])
		return strcmp(answer->etag, first->etag) == 0;
	return strcmp(answer->modified, first->modified) == 0;
}
