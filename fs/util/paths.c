/* SPDX-License-Identifier: MIT */
/* paths.c - see paths.h. */
#include "fs/util/paths.h"
#include "fs/util/disk.h"
#include "fs/util/text_escape.h"
#include "fs/util/url.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int paths_open(int dir, const char *path, int flags)
{
	struct open_how how = { .flags = (uint64_t)(unsigned)flags | O_CLOEXEC,
				.resolve = RESOLVE_NO_MAGICLINKS };
	const long fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

int paths_fsync_directory(const char *path)
{
	const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const int rc = fd < 0 ? -errno : disk_sync_directory(fd);

	if (fd >= 0)
		close(fd);
	return rc;
}

/* Make the entry of a new directory durable. The sync of the layer meets an error again. */
static void sync_parent(const char *path)
{
	char parent[PATH_MAX];
	const char *slash = strrchr(path, '/');

	snprintf(parent, sizeof(parent), "%.*s", slash ? (int)(slash - path + 1) : 1,
		 slash ? path : ".");
	paths_fsync_directory(parent);
}

int paths_mkdir(const char *path)
{
	char part[PATH_MAX];

	for (size_t i = 1; path[i - 1]; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		if (i >= sizeof(part))
			return -ENAMETOOLONG;
		memcpy(part, path, i);
		part[i] = '\0';
		if (mkdir(part, 0700) == 0)
			sync_parent(part);
		else if (errno != EEXIST)
			return -errno;
	}
	return 0;
}

void paths_remove_directory(int dir, const char *name)
{
	const int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *entries = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!entries) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((entry = readdir(entries)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			unlinkat(fd, entry->d_name, 0);
	closedir(entries);
	unlinkat(dir, name, AT_REMOVEDIR);
}

bool paths_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

char *paths_directory(const char *path)
{
	const bool anywhere = url_is_remote(path) || url_is_store(path);
	const char *slash = anywhere ? NULL : strrchr(path, '/');
	char *parent = slash ? strndup(path, (size_t)(slash - path + 1)) : strdup(".");
	char *directory = parent ? realpath(parent, NULL) : NULL;

	free(parent);
	return directory;
}

static char *stem_of_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *file = slash ? slash + 1 : path;
	const size_t n = strlen(file), prefix = paths_shard_prefix(file);

	if (prefix)
		return strndup(file, prefix);
	if (n > 5 && strcasecmp(file + n - 5, ".gguf") == 0)
		return strndup(file, n - 5);
	return strdup(file);
}

char *paths_mount_point(const char *given)
{
	char *copy = strdup(given), *path;

	/* With a trailing slash, realpath(3) would access the directory. */
	for (size_t n = copy ? strlen(copy) : 0; n > 1 && copy[n - 1] == '/'; n--)
		copy[n - 1] = '\0';
	path = copy ? realpath(copy, NULL) : NULL;
	free(copy);
	return path;
}

/* Stem of the name of a model in a store, without a revision, and with the tag of ollama. */
static char *stem_of_stored(const char *name)
{
	const char *revision = name[0] == 'h' ? strrchr(name, '@') : NULL;
	char *copy = strndup(name, revision ? (size_t)(revision - name) : strlen(name)), *stem;

	stem = copy ? stem_of_name(strchr(copy, ':') + 1) : NULL;
	free(copy);
	for (char *at = stem; name[0] == 'o' && at && *at; at++)
		if (*at == ':')
			*at = '-';
	return stem;
}

char *paths_stem(const char *path)
{
	char *name = url_is_remote(path) ? url_file_name(path) : NULL, *stem;

	if (url_is_store(path))
		return stem_of_stored(path);
	if (!url_is_remote(path))
		return stem_of_name(path);
	stem = name ? stem_of_name(name) : NULL;
	free(name);
	return stem;
}

size_t paths_shard_prefix(const char *name)
{
	static const char form[] = "-00000-of-00000.gguf";
	const size_t n = strlen(name), m = sizeof(form) - 1;

	if (n <= m)
		return 0;
	for (size_t i = 0; i < m; i++) {
		const char c = name[n - m + i];

		if (form[i] == '0' ? c < '0' || c > '9' : c != form[i])
			return 0;
	}
	return n - m;
}

void paths_print(const char *bytes, size_t n, FILE *out)
{
	text_escape_print(bytes, n, " %\x80", out);
}
