/* SPDX-License-Identifier: MIT */
/* url.c - see url.h. Source: RFC 3986, section 3; RFC 8089 for file:. */
#include "fs/util/url.h"
#include "fs/util/text_escape.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool begins(const char *text, const char *with)
{
	return strncasecmp(text, with, strlen(with)) == 0;
}

bool url_is_remote(const char *text)
{
	return begins(text, "http://") || begins(text, "https://");
}

bool url_or_absolute_path(const char *text)
{
	return text[0] == '/' || url_is_remote(text);
}

bool url_is_file(const char *text)
{
	return begins(text, "file:");
}

bool url_is_store(const char *text)
{
	return strncmp(text, "ollama:", 7) == 0 || strncmp(text, "hf:", 3) == 0 ||
	       strncmp(text, "lmstudio:", 9) == 0;
}

/* The part after "//", if the URL has one. */
static const char *authority_of(const char *url)
{
	return strstr(url, "//") + 2;
}

/* End of the authority: the begin of path, query or fragment, or the end of the text. */
static const char *authority_end(const char *url)
{
	const char *authority = authority_of(url);

	return authority + strcspn(authority, "/?#");
}

/* Begin of the host: the part after the last '@' of the authority. */
static const char *host_of(const char *url)
{
	const char *end = authority_end(url), *host = authority_of(url);

	for (const char *at = host; at < end; at++)
		if (*at == '@')
			host = at + 1;
	return host;
}

bool url_has_credentials(const char *url)
{
	return host_of(url) != authority_of(url);
}

const char *url_name_end(const char *url)
{
	const char *end = authority_end(url);

	return end + strcspn(end, "?#");
}

/* Begin of the last part of the path. */
static const char *name_begin(const char *url)
{
	const char *path = authority_end(url), *end = url_name_end(url), *begin = path;

	for (const char *at = path; at < end; at++)
		if (*at == '/')
			begin = at + 1;
	return begin;
}

char *url_shown(const char *url)
{
	const char *authority = authority_of(url), *host = host_of(url);
	char *shown = malloc(strlen(url) + 1), *to = shown;

	if (!shown)
		return NULL;
	to = mempcpy(to, url, (size_t)(authority - url));
	to = mempcpy(to, host, (size_t)(url_name_end(url) - host));
	*to = '\0';
	return shown;
}

/* Is it invalid as a file name, or does it lead out of a directory? */
static bool is_no_name(const char *name)
{
	return !*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

char *url_file_name(const char *url)
{
	const char *begin = name_begin(url), *end = url_name_end(url);
	char *name = malloc((size_t)(end - begin) + sizeof("model")), *to = name;

	if (!name)
		return NULL;
	for (const char *at = begin; at < end; at++) {
		const int byte = *at == '%' && end - at > 2 ? text_unescape_byte(at) : -1;

		if (byte > 0 && byte != '/') {
			*to++ = (char)byte;
			at += 2;
		} else {
			*to++ = *at;
		}
	}
	*to = '\0';
	if (is_no_name(name))
		strcpy(name, "model");
	return name;
}

char *url_file_path(const char *url)
{
	const char *path = url + strlen("file:");
	char *decoded;

	if (begins(path, "//localhost/"))
		path += strlen("//localhost");
	else if (begins(path, "///"))
		path += 2;
	if (path[0] != '/' || path[1] == '/' || strstr(path, "%00")) {
		errno = EINVAL;
		return NULL;
	}
	decoded = strdup(path);
	if (decoded)
		text_unescape(decoded);
	return decoded;
}
