/* SPDX-License-Identifier: MIT */
/* written_files.c - see written_files.h. */
#include "fs/assemble/written_files.h"
#include "fs/util/paths.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *written_files_path(int directory, const char *name)
{
	char link[40], path[PATH_MAX], *whole;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", directory);
	n = readlink(link, path, sizeof(path));
	if (n <= 0 || (size_t)n == sizeof(path) ||
	    asprintf(&whole, "%.*s/%s", (int)n, path, name) < 0)
		return NULL;
	return whole;
}

void written_files_add(struct written_files *written, int directory, const char *name, int fd)
{
	struct written_file *files = reallocarray(written->files, written->n + 1, sizeof(*files));
	struct written_file *file = files ? &files[written->n] : NULL;

	if (files)
		written->files = files;
	if (file && fstat(fd, &file->stat) == 0 &&
	    (file->path = written_files_path(directory, name)))
		written->n++;
	else
		written->unknown = true;
}

bool written_files_exist(const struct written_files *written)
{
	bool there = written->n > 0 && !written->unknown;

	for (size_t i = 0; there && i < written->n; i++) {
		const struct stat *then = &written->files[i].stat;
		struct stat now;

		there = lstat(written->files[i].path, &now) == 0 && paths_same_file(&now, then) &&
			now.st_ctim.tv_sec == then->st_ctim.tv_sec &&
			now.st_ctim.tv_nsec == then->st_ctim.tv_nsec;
	}
	return there;
}

void written_files_release(struct written_files *written)
{
	for (size_t i = 0; i < written->n; i++)
		free(written->files[i].path);
	free(written->files);
	*written = (struct written_files){ 0 };
}
