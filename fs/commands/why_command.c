/* SPDX-License-Identifier: MIT */
/* why_command.c - see why_command.h. */
#include "fs/commands/why_command.h"
#include "fs/commands/offline_models.h"
#include "fs/util/io.h"
#include "fs/util/log.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* A file in a mount: its absolute path, and the bytes of that which are the mount point. */
struct place {
	char path[PATH_MAX];
	size_t root;
};

/* Resolve the directory of path alone: the file itself may be a link, or not be there. */
static int resolve(const char *path, char resolved[PATH_MAX])
{
	char *directory = strdup(path), *name = strdup(path);
	struct stat st;
	size_t n;
	int rc = directory && name ? 0 : -ENOMEM;

	if (rc == 0 && stat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
		rc = realpath(path, resolved) ? 0 : -errno;
	} else if (rc == 0) {
		rc = realpath(dirname(directory), resolved) ? 0 : -errno;
		n = rc == 0 ? strlen(resolved) : 0;
		if (rc == 0 && snprintf(resolved + n, PATH_MAX - n, "/%s", basename(name)) >=
				       (int)(PATH_MAX - n))
			rc = -ENAMETOOLONG;
	}
	free(name);
	free(directory);
	return rc;
}

/* Status of the directory that the first n bytes of the path name. */
static int stat_part(const struct place *place, size_t n, struct stat *st)
{
	char part[PATH_MAX];

	snprintf(part, sizeof(part), "%.*s", n ? (int)n : 1, n ? place->path : "/");
	return stat(part, st) < 0 ? -errno : 0;
}

/* The mount point is the topmost directory above the file that is on the file's device. */
static int find_place(const char *path, struct place *place)
{
	struct stat st, above;
	int rc = resolve(path, place->path);
	size_t n;

	if (rc < 0)
		return rc;
	place->root = strlen(place->path);
	if (stat_part(place, place->root, &st) < 0 || !S_ISDIR(st.st_mode)) {
		place->root = (size_t)(strrchr(place->path, '/') - place->path);
		rc = stat_part(place, place->root, &st);
	}
	while (rc == 0 && place->root) {
		n = (size_t)((char *)memrchr(place->path, '/', place->root) - place->path);
		rc = stat_part(place, n, &above);
		if (rc < 0 || above.st_dev != st.st_dev)
			break;
		place->root = n;
	}
	return rc;
}

/* The text of .log, to free; NULL with errno set. */
static char *read_log(const struct place *place)
{
	char path[PATH_MAX + sizeof("/.log")], *text;
	size_t size;
	int fd;

	snprintf(path, sizeof(path), "%.*s", (int)place->root, place->path);
	if (getxattr(path, "user.organfs.daemon", NULL, 0) < 0)
		return NULL;
	strcat(path, "/.log");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	text = fd < 0 ? NULL : io_read_all(fd, &size);
	if (fd >= 0)
		close(fd);
	return text;
}

/* Print the lines on that file; returns their number, or -1. */
static int print_lines(char *text, const char *title)
{
	int n = 0;

	for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		if (!log_line_is_on(line, title))
			continue;
		*end = '\n';
		if (offline_models_print(line, (size_t)(end + 1 - line)) < 0)
			return -1;
		n++;
	}
	return n;
}

/* A file in blocks/ is known to .log by its other name, and to the mount by both. */
static int print_attribute(const char *path)
{
	char text[4096];
	const ssize_t n = lgetxattr(path, "user.organfs.error", text, sizeof(text) - 1);

	if (n <= 0)
		return 0;
	text[n] = '\n';
	return offline_models_print(text, (size_t)n + 1) < 0 ? -1 : 1;
}

int why_command(const char *path)
{
	struct place place;
	const char *title;
	char *text = NULL;
	int rc = find_place(path, &place), n;

	if (rc < 0)
		return offline_models_fail(path, rc) < 0;
	text = read_log(&place);
	if (!text)
		return offline_models_report("%s: not in a mount of organfs that you may read",
					     path) < 0;
	title = place.path + place.root;
	n = print_lines(text, *title == '/' ? title + 1 : title);
	free(text);
	if (n == 0)
		n = print_attribute(path);
	if (n == 0)
		offline_models_report("%s: no message on it is in .log, which keeps 1,000", path);
	return n <= 0;
}
