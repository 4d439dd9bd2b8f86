/* SPDX-License-Identifier: MIT */
/* config.c - see config.h. */
#include "fs/mount/config.h"
#include "fs/util/io.h"
#include "gguf/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Options that are refused as defaults: with them all mounts would write the same file, take the
 * same layer, or never return to the shell. */
static const char *const of_one_mount[] = {
	"output", "layer", "header", "recipe", "model", "debug"
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Remove blanks at both ends. */
static void trim(const char **text, size_t *n)
{
	while (*n > 0 && is_blank((*text)[*n - 1]))
		(*n)--;
	while (*n > 0 && is_blank((*text)[0])) {
		(*text)++;
		(*n)--;
	}
}

/* Length of the line up to a '#' that begins the line or follows a blank. */
static size_t without_comment(const char *line, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (line[i] == '#' && (i == 0 || is_blank(line[i - 1])))
			return i;
	return n;
}

static int check_name(const char *name, size_t n, struct error *err)
{
	if (n == 0)
		return error_set(err, EINVAL, ERROR_NO_OFFSET,
				 "the name of an option is missing before \"=\"");
	if (name[0] == '-')
		return error_set(err, EINVAL, ERROR_NO_OFFSET,
				 "expected an option without \"-\", as -o takes it, such as ro");
	for (size_t i = 0; i < n; i++)
		if (is_blank(name[i]))
			return error_set(err, EINVAL, ERROR_NO_OFFSET,
					 "expected one option a line: NAME or NAME=VALUE");
	for (size_t i = 0; i < sizeof(of_one_mount) / sizeof(of_one_mount[0]); i++)
		if (strlen(of_one_mount[i]) == n && memcmp(name, of_one_mount[i], n) == 0)
			return error_set(err, EINVAL, ERROR_NO_OFFSET,
					 "%s cannot be a default: give it on the command line",
					 of_one_mount[i]);
	return 0;
}

static int check_bytes(const char *line, size_t n, struct error *err)
{
	if (n > CONFIG_LINE_MAX)
		return error_set(err, EINVAL, ERROR_NO_OFFSET, "the line is longer than %d bytes",
				 CONFIG_LINE_MAX);
	for (size_t i = 0; i < n; i++)
		if (((unsigned char)line[i] < ' ' && !is_blank(line[i])) || line[i] == 0x7f)
			return error_set(err, EINVAL, ERROR_NO_OFFSET,
					 "the line has a control character in it");
	return 0;
}

static int append(struct config *config, const char *name, size_t n, const char *value, size_t m)
{
	struct config_option *longer =
		reallocarray(config->options, config->n + 1, sizeof(*longer));
	char *text = NULL;

	if (!longer)
		return -ENOMEM;
	config->options = longer;
	if (asprintf(&text, "%.*s%s%.*s", (int)n, name, value ? "=" : "", (int)m,
		     value ? value : "") < 0)
		return -ENOMEM;
	longer[config->n++] = (struct config_option){ .text = text, .line = config->bad_line };
	return 0;
}

static int parse_line(struct config *config, const char *line, size_t n, struct error *err)
{
	const char *equals, *value = NULL;
	size_t m = 0;
	int rc = check_bytes(line, n, err);

	if (rc < 0)
		return rc;
	n = without_comment(line, n);
	trim(&line, &n);
	if (n == 0)
		return 0;
	equals = memchr(line, '=', n);
	if (equals) {
		value = equals + 1;
		m = n - (size_t)(value - line);
		n = (size_t)(equals - line);
		trim(&value, &m);
		trim(&line, &n);
	}
	rc = check_name(line, n, err);
	if (rc < 0)
		return rc;
	if (append(config, line, n, value, m) < 0)
		return error_errno(err, ENOMEM);
	return 0;
}

int config_parse(const char *text, size_t size, struct config *config, struct error *err)
{
	size_t n;
	int rc = 0;

	memset(config, 0, sizeof(*config));
	while (rc == 0 && size > 0) {
		const char *end = memchr(text, '\n', size);

		n = end ? (size_t)(end - text) : size;
		config->bad_line++;
		rc = parse_line(config, text, n, err);
		n += end ? 1 : 0;
		text += n;
		size -= n;
	}
	if (rc == 0)
		config->bad_line = 0;
	return rc;
}

static bool is_anothers(const struct stat *stat)
{
	return stat->st_uid != geteuid() && stat->st_uid != 0;
}

/* Result of config_read() after open(2) failed with code. Returns 0 if there is no such file; 1 if
 * it belongs to another user, or lies in a directory that this user cannot search. */
static int refused(const char *path, bool users_own, int code, struct error *err)
{
	struct stat status;

	if (code == ENOENT || code == ENOTDIR)
		return 0;
	if (users_own && code == EACCES && (stat(path, &status) < 0 || is_anothers(&status)))
		return 1;
	return error_errno(err, code);
}

/* Read the options from a descriptor. */
static int read_open(int fd, bool users_own, struct config *config, struct error *err)
{
	struct stat status;
	char *text;
	ssize_t n;
	int rc;

	if (fstat(fd, &status) < 0)
		return error_errno(err, errno);
	if (users_own && is_anothers(&status))
		return 1;
	if (!S_ISREG(status.st_mode))
		return error_set(err, EINVAL, ERROR_NO_OFFSET, "not a regular file");
	text = malloc(CONFIG_BYTES_MAX + 1);
	if (!text)
		return error_errno(err, ENOMEM);
	n = io_read(fd, text, CONFIG_BYTES_MAX + 1, 0);
	if (n < 0)
		rc = error_errno(err, (int)-n);
	else if ((size_t)n > CONFIG_BYTES_MAX)
		rc = error_set(err, EFBIG, ERROR_NO_OFFSET, "the file is larger than %zu KiB",
			       CONFIG_BYTES_MAX >> 10);
	else
		rc = config_parse(text, (size_t)n, config, err);
	free(text);
	return rc;
}

int config_read(const char *path, bool users_own, struct config *config, struct error *err)
{
	/* O_NONBLOCK, because the open of a FIFO waits for a writer. */
	const int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	int rc;

	memset(config, 0, sizeof(*config));
	if (fd < 0)
		return refused(path, users_own, errno, err);
	rc = read_open(fd, users_own, config, err);
	close(fd);
	return rc;
}

/* The XDG Base Directory Specification voids relative paths. */
static const char *directory_of(const char *variable)
{
	const char *directory = secure_getenv(variable);

	return directory && directory[0] == '/' ? directory : NULL;
}

char *config_users_path(void)
{
	const char *configs = directory_of("XDG_CONFIG_HOME"), *home = directory_of("HOME");
	char *path = NULL;

	if (!configs && !home)
		return NULL;
	if (asprintf(&path, "%s/%sorganfs.conf", configs ? configs : home,
		     configs ? "" : ".config/") < 0)
		return NULL;
	return path;
}

void config_release(struct config *config)
{
	for (size_t i = 0; i < config->n; i++)
		free(config->options[i].text);
	free(config->options);
	memset(config, 0, sizeof(*config));
}
