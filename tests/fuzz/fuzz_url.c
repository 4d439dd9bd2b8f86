/* SPDX-License-Identifier: MIT */
/* fuzz_url.c - any text as the address of a model: its shown form has no credentials, its name is a
 * valid file name, and a path in it is absolute. */
#include "fs/util/url.h"
#include "fuzz_help.h"

#include <errno.h>
#include <string.h>

static void check_shown(const char *url)
{
	char *shown = url_shown(url), *again;

	require(shown != NULL && !url_has_credentials(shown));
	require(url_is_remote(shown) == url_is_remote(url));
	again = url_shown(shown);
	require(again && strcmp(again, shown) == 0);
	free(again);
	free(shown);
}

static void check_name(const char *url)
{
	const char *end = url_name_end(url);
	char *name = url_file_name(url);

	require(end >= url && end <= url + strlen(url));
	require(name && name[0] && !strchr(name, '/'));
	require(strcmp(name, ".") != 0 && strcmp(name, "..") != 0);
	free(name);
}

static void check_path(const char *url)
{
	char *path;

	errno = 0;
	path = url_file_path(url);
	require(path ? path[0] == '/' : errno == EINVAL);
	free(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *url = strndup((const char *)data, size);

	require(url != NULL);
	if (url_is_remote(url)) {
		require(url_or_absolute_path(url) && !url_is_file(url));
		check_shown(url);
		check_name(url);
	}
	if (url_is_file(url))
		check_path(url);
	free(url);
	return 0;
}
