/* SPDX-License-Identifier: MIT */
/* layer_metadata.c - see layer_metadata.h. */
#include "fs/layer_metadata.h"
#include "fs/io.h"
#include "fs/layer_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIRECTORY "metadata"

/* The longest name of such a file; the disk refuses it where it is too long. */
#define FILE_MAX (NAME_MAX + 16)

#define COPY_CHUNK ((size_t)1 << 16)

static const char *const prefixes[] = {
	[LAYER_KEY_REMOVED] = ".wh.", [LAYER_KEY_TYPED] = ".typed.", [LAYER_KEY_TEXT] = ""
};

static void file_name(enum layer_key kind, const char *name, char out[FILE_MAX])
{
	snprintf(out, FILE_MAX, "%s%s", prefixes[kind], name);
}

static int open_directory(const struct layer *layer, bool make)
{
	const int fd =
		openat(layer->dir, DIRECTORY, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (fd >= 0 || errno != ENOENT || !make)
		return fd < 0 ? -errno : fd;
	if ((mkdirat(layer->dir, DIRECTORY, 0700) < 0 && errno != EEXIST) || fsync(layer->dir) < 0)
		return -errno;
	return open_directory(layer, false);
}

/* What the layer says now is durable; what it said before goes. */
static int settle(int dir, enum layer_key kind, const char *name)
{
	bool gone = false;

	if (fsync(dir) < 0)
		return -errno;
	for (enum layer_key other = 0; other < LAYER_KEY_NOTHING; other++) {
		char file[FILE_MAX];

		file_name(other, name, file);
		if (other == kind)
			continue;
		if (unlinkat(dir, file, 0) == 0)
			gone = true;
		else if (errno != ENOENT)
			return -errno;
	}
	return gone && fsync(dir) < 0 ? -errno : 0;
}

static int write_text(int fd, const char *head, struct view *text)
{
	uint64_t at = strlen(head);
	char *bytes = malloc(COPY_CHUNK);
	int rc = bytes ? io_write(fd, head, at, 0) : -ENOMEM;

	for (uint64_t from = 0; rc == 0 && text && from < view_size(text);) {
		const ssize_t got = view_read(text, bytes, COPY_CHUNK, from);

		rc = got < 0 ? (int)got : got == 0 ? -EIO : io_write(fd, bytes, (size_t)got, at);
		at += got > 0 ? (uint64_t)got : 0;
		from += got > 0 ? (uint64_t)got : 0;
	}
	free(bytes);
	return rc;
}

/* A durable file with that content. */
static int write_stage(int fd, const char *head, struct view *text, const struct timespec *mtime)
{
	const struct timespec times[2] = { *mtime, *mtime };
	const int rc = write_text(fd, head, text);

	if (rc < 0)
		return rc;
	return futimens(fd, times) < 0 || fsync(fd) < 0 ? -errno : 0;
}

static int put(struct layer *layer, unsigned number, enum layer_key kind, const char *name)
{
	const int dir = open_directory(layer, true);
	char from[32], to[FILE_MAX];
	int rc;

	if (dir < 0)
		return dir;
	snprintf(from, sizeof(from), ".stage/%u", number);
	file_name(kind, name, to);
	rc = renameat(layer->dir, from, dir, to) < 0 ? -errno : settle(dir, kind, name);
	close(dir);
	return rc;
}

int layer_write_key(struct layer *layer, enum layer_key kind, const char *name, const char *head,
		    struct view *text, const struct timespec *mtime)
{
	unsigned number;
	const int fd = layer_stage(layer, &number);
	int rc;

	if (fd < 0)
		return fd;
	rc = write_stage(fd, head, text, mtime);
	close(fd);
	if (rc == 0)
		rc = put(layer, number, kind, name);
	if (rc < 0)
		layer_unstage(layer, number);
	return rc;
}

int layer_forget_key(struct layer *layer, const char *name)
{
	const int dir = layer->dir < 0 ? -ENOENT : open_directory(layer, false);
	int rc;

	if (dir < 0)
		return dir == -ENOENT ? 0 : dir;
	rc = settle(dir, LAYER_KEY_NOTHING, name);
	close(dir);
	return rc;
}

/* The key that a file says something of, and what. NULL: it is none of ours. */
static const char *parse_name(const char *entry, enum layer_key *kind)
{
	for (*kind = 0; *kind < LAYER_KEY_TEXT; (*kind)++) {
		const size_t n = strlen(prefixes[*kind]);

		if (strncmp(entry, prefixes[*kind], n) == 0 && entry[n])
			return entry + n;
	}
	return entry[0] == '.' ? NULL : entry;
}

static bool is_superseded(int dir, enum layer_key kind, const char *name)
{
	for (enum layer_key other = 0; other < kind; other++) {
		char file[FILE_MAX];

		file_name(other, name, file);
		if (faccessat(dir, file, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			return true;
	}
	return false;
}

static void each_file(struct layer *layer, int dir, const char *entry, layer_found_key *found,
		      void *context)
{
	struct backing *file = NULL;
	struct error err = { 0 };
	enum layer_key kind;
	const char *name = parse_name(entry, &kind);
	char path[PATH_MAX];
	int fd;

	if (!name || is_superseded(dir, kind, name))
		return;
	snprintf(path, sizeof(path), "%s/" DIRECTORY "/%s", layer->path, entry);
	fd = openat(dir, entry, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		error_set(&err, errno, ERROR_NO_OFFSET, "%s", strerror(errno));
	else
		file = backing_adopt(fd, path, &err);
	found(context, kind, name, file, &err);
}

int layer_each_key(struct layer *layer, layer_found_key *found, void *context)
{
	const int fd = layer->dir < 0 ? -ENOENT : open_directory(layer, false);
	DIR *entries = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	int rc = 0;

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	if (!entries) {
		rc = -errno;
		close(fd);
		return rc;
	}
	while ((errno = 0, entry = readdir(entries)))
		each_file(layer, fd, entry->d_name, found, context);
	if (errno)
		rc = -errno;
	closedir(entries);
	return rc;
}
