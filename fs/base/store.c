/* SPDX-License-Identifier: MIT */
/* store.c - see store.h. */
#include "fs/base/store.h"
#include "fs/util/home.h"
#include "fs/util/io.h"
#include "fs/util/paths.h"
#include "gguf/error.h"
#include "gguf/printable.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

char *store_path(const char *format, ...)
{
	va_list values;
	char *path;

	va_start(values, format);
	if (vasprintf(&path, format, values) < 0)
		path = NULL;
	va_end(values);
	return path;
}

char *store_variable(const char *name, const char *below)
{
	const char *set = getenv(name);
	char *directory, *path;

	if (!set || !*set)
		return NULL;
	if (strncmp(set, "~/", 2) == 0)
		directory = home_path(set + 2);
	else
		directory = set[0] == '/' ? strdup(set) : realpath(set, NULL);
	path = directory ? store_path("%s%s", directory, below) : NULL;
	free(directory);
	return path;
}

char *store_read(const char *path, size_t *size, struct error *err)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat stat = { 0 };
	char *text = NULL;
	ssize_t got;

	if (fd < 0 || fstat(fd, &stat) < 0) {
		error_errno(err, errno);
	} else if (!S_ISREG(stat.st_mode)) {
		error_set(err, EBADMSG, ERROR_NO_OFFSET, "%.150s is not a regular file", path);
	} else if (stat.st_size > (off_t)STORE_TEXT_MAX) {
		error_set(err, EFBIG, ERROR_NO_OFFSET, "%.150s is longer than 1 MiB", path);
	} else {
		text = malloc((size_t)stat.st_size + 1);
		got = text ? io_read(fd, text, (size_t)stat.st_size, 0) : -ENOMEM;
		if (got < 0) {
			error_errno(err, (int)-got);
			free(text);
			text = NULL;
		} else {
			text[got] = '\0';
			*size = (size_t)got;
		}
	}
	if (fd >= 0)
		close(fd);
	return text;
}

bool store_is_plain(const char *path)
{
	for (const char *part = path;; part++) {
		const size_t n = strcspn(part, "/");

		if (n == 0 || n > NAME_MAX ||
		    (part[0] == '.' && (n == 1 || (n == 2 && part[1] == '.'))))
			return false;
		for (size_t i = 0; i < n; i++)
			if (control_length(part + i, n - i, NULL))
				return false;
		part += n;
		if (!*part)
			return true;
	}
}

static int check_file(const char *path, const char *inside, uint64_t *size, struct error *err)
{
	char *real = realpath(path, NULL);
	const size_t n = inside ? strlen(inside) : 0;
	struct stat status;
	int rc = 0;

	if (!real || stat(real, &status) < 0)
		rc = errno == ENOENT
			     ? error_set(err, ENOENT, ERROR_NO_OFFSET, "its link leads to no file")
			     : error_errno(err, errno);
	else if (inside && (strncmp(real, inside, n) != 0 || (real[n] != '/' && n > 1)))
		rc = error_set(err, EBADMSG, ERROR_NO_OFFSET,
			       "its link leads out of the store, to %.120s", real);
	else if (!S_ISREG(status.st_mode))
		rc = error_set(err, EBADMSG, ERROR_NO_OFFSET, "not a regular file");
	else
		*size += (uint64_t)status.st_size;
	free(real);
	return rc;
}

/* Check the other shards. A missing shard and a dangling link are left to base_open(). */
static int check_shards(const char *path, const char *name, const char *inside, uint64_t *size,
			struct error *err)
{
	const size_t n = paths_shard_prefix(name);
	char *directory = strndup(path, (size_t)(name - path)), *shard;
	DIR *entries = directory ? opendir(directory) : NULL;
	const struct dirent *entry;
	int rc = entries ? 0 : error_errno(err, directory ? errno : ENOMEM);

	while (rc == 0 && (entry = readdir(entries))) {
		if (paths_shard_prefix(entry->d_name) != n || memcmp(entry->d_name, name, n) != 0 ||
		    strcmp(entry->d_name, name) == 0)
			continue;
		shard = store_path("%s%s", directory, entry->d_name);
		rc = shard ? check_file(shard, inside, size, err) : error_errno(err, ENOMEM);
		if (rc == -ENOENT)
			rc = 0;
		free(shard);
	}
	if (entries)
		closedir(entries);
	free(directory);
	return rc;
}

int store_check(const char *path, const char *inside, uint64_t *size, struct error *err)
{
	const char *name = strrchr(path, '/') + 1;
	char *real = inside ? realpath(inside, NULL) : NULL;
	int rc = 0;

	*size = 0;
	if (inside && !real)
		rc = error_errno(err, errno);
	if (rc == 0)
		rc = check_file(path, real, size, err);
	if (rc == 0 && paths_shard_prefix(name))
		rc = check_shards(path, name, real, size, err);
	free(real);
	return rc;
}

/* The entries of the directory at a path from that directory. */
static int walk(const char *directory, const char *path, unsigned levels,
		int (*visit)(void *context, const char *path), void *context)
{
	char *whole = store_path("%s/%s", directory, path);
	DIR *entries = whole ? opendir(whole) : NULL;
	const struct dirent *entry;
	int rc = whole ? 0 : -ENOMEM;

	while (entries && rc == 0 && (entry = readdir(entries))) {
		char *below = store_path("%s%s%s", path, *path ? "/" : "", entry->d_name), *file;
		struct stat status;

		file = below ? store_path("%s/%s", directory, below) : NULL;
		if (!file)
			rc = -ENOMEM;
		else if (entry->d_name[0] == '.')
			rc = 0;
		else if (lstat(file, &status) == 0 && S_ISDIR(status.st_mode))
			rc = levels > 1 ? walk(directory, below, levels - 1, visit, context) : 0;
		else
			rc = visit(context, below);
		free(below);
		free(file);
	}
	if (entries)
		closedir(entries);
	free(whole);
	return rc;
}

int store_walk(const char *directory, unsigned levels,
	       int (*visit)(void *context, const char *path), void *context)
{
	return walk(directory, "", levels, visit, context);
}

bool store_is_listed(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const size_t n = strlen(name), prefix = paths_shard_prefix(name);

	return n > 5 && strcasecmp(name + n - 5, ".gguf") == 0 &&
	       (!prefix || strncmp(name + prefix, "-00001-", 7) == 0);
}
