/* SPDX-License-Identifier: MIT */
/* why_command.c - see why_command.h. */
#include "fs/commands/why_command.h"
#include "fs/commands/offline_models.h"
#include "fs/mount/options.h"
#include "fs/util/io.h"
#include "fs/util/log.h"
#include "fs/util/mountinfo.h"
#include "gguf/anatomy.h"

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

/* Resolve only the directory of path: the file itself may be a link, or missing. */
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

/* Length of the organfs mount point above an absolute path, which need not exist; 0 outside of a
 * mount. */
static size_t find_mount(const char *path)
{
	size_t n, length, longest = 0;
	struct mountinfo *list = mountinfo_list(&n);

	for (size_t i = 0; i < n; i++) {
		length = strlen(list[i].point);
		if (length > longest && strncmp(path, list[i].point, length) == 0 &&
		    (path[length] == '/' || !path[length]))
			longest = length;
	}
	mountinfo_list_free(list, n);
	return longest;
}

/* The text of .log of the mount at the first n bytes of path, to free; NULL with errno set. */
static char *read_log(const char *path, size_t n)
{
	char log[PATH_MAX + sizeof("/.log")], *text;
	size_t size;
	int fd;

	snprintf(log, sizeof(log), "%.*s/.log", (int)n, path);
	fd = open(log, O_RDONLY | O_CLOEXEC);
	text = fd < 0 ? NULL : io_read_all(fd, &size);
	if (fd >= 0)
		close(fd);
	return text;
}

/* Is the line on that file? .log knows blocks/N/NAME as CLASS/blk_N_NAME. A link, or a file that is
 * missing, has no attribute user.organfs.error. */
static bool is_on(const char *line, const char *title)
{
	const char *block = strstr(title, "blocks/");
	char other[PATH_MAX];
	unsigned number;
	int at = 0;

	if (log_line_is_on(line, title))
		return true;
	/* A model's directory may be called blocks too. */
	while (block && (sscanf(block, "blocks/%u/%n", &number, &at) != 1 || !at))
		block = strstr(block + 1, "blocks/");
	if (!block)
		return false;
	for (unsigned i = 0; i < CLASSES; i++) {
		snprintf(other, sizeof(other), "%.*s%s/blk_%u_%s", (int)(block - title), title,
			 class_name((enum organ_class)i), number, block + at);
		if (log_line_is_on(line, other))
			return true;
	}
	return false;
}

/* Print the lines on that file; returns their number, or -1. */
static int print_lines(char *text, const char *title)
{
	int n = 0;

	for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		if (!is_on(line, title))
			continue;
		*end = '\n';
		if (offline_models_print(line, (size_t)(end + 1 - line)) < 0)
			return -1;
		n++;
	}
	return n;
}

/* A file that is computed from a slot, such as its θ, has the messages of the slot. */
static int print_attribute(const char *path)
{
	char text[4096];
	const ssize_t n = lgetxattr(path, "user.organfs.error", text, sizeof(text) - 1);

	if (n <= 0)
		return 0;
	text[n] = '\n';
	return offline_models_print(text, (size_t)n + 1) < 0 ? -1 : 1;
}

int why_command(const struct options *options)
{
	const char *path = options->models[0];
	char resolved[PATH_MAX], *text;
	const char *title;
	size_t mount;
	int rc = resolve(path, resolved), n;

	if (rc < 0)
		return offline_models_fail(path, rc) < 0;
	mount = find_mount(resolved);
	if (!mount)
		return offline_models_report("%s: not in a mount of organfs", path) < 0;
	text = read_log(resolved, mount);
	if (!text)
		return offline_models_fail(path, -errno) < 0;
	title = resolved + mount;
	n = print_lines(text, *title == '/' ? title + 1 : title);
	free(text);
	if (n == 0)
		n = print_attribute(path);
	if (n == 0 && *title)
		offline_models_report("%s: .log has no message on it; organfs --why %.*s prints "
				      "all messages",
				      path, (int)mount, resolved);
	else if (n == 0)
		offline_models_report("%s: .log is empty", path);
	return n <= 0;
}
