/* SPDX-License-Identifier: MIT */
/* layer_metadata.c - see layer_metadata.h. */
#include "fs/layer/layer_metadata.h"
#include "fs/layer/layer_internal.h"
#include "fs/layer/layer_open.h"
#include "fs/util/io.h"

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

/* A change under way, and what takes it back: names in .stage that begin with its number. */
struct key_transaction {
	const struct layer *layer;
	const char *name;
	unsigned number;
	int dir;
	bool is_new;			   /* the file that was put in place was not there before */
	bool was_there[LAYER_KEY_NOTHING]; /* and is in .stage now, or linked there */
};

static void stage_name(const struct key_transaction *change, int kind, char name[32])
{
	if (kind < 0)
		snprintf(name, 32, ".stage/%u", change->number);
	else
		snprintf(name, 32, ".stage/%u.%d", change->number, kind);
}

/* What there was is there again. */
static void roll_back(const struct key_transaction *change)
{
	for (int kind = 0; kind < LAYER_KEY_NOTHING; kind++) {
		char from[32], to[FILE_MAX];

		if (!change->was_there[kind])
			continue;
		stage_name(change, kind, from);
		file_name((enum layer_key)kind, change->name, to);
		/* Of two names of one file the rename leaves both. */
		if (renameat(change->layer->dir, from, change->dir, to) == 0)
			unlinkat(change->layer->dir, from, 0);
	}
	fsync(change->dir);
}

static void forget_old(const struct key_transaction *change)
{
	char name[32];

	for (int kind = 0; kind < LAYER_KEY_NOTHING; kind++) {
		stage_name(change, kind, name);
		if (change->was_there[kind])
			unlinkat(change->layer->dir, name, 0);
	}
}

/* Move a file of the key away; it may not be there. Returns 0 or -errno. */
static int move_key_aside(struct key_transaction *change, enum layer_key kind)
{
	char from[FILE_MAX], to[32];

	file_name(kind, change->name, from);
	stage_name(change, (int)kind, to);
	if (renameat(change->dir, from, change->layer->dir, to) == 0)
		change->was_there[kind] = true;
	else if (errno != ENOENT)
		return -errno;
	return 0;
}

/* Put the stage in the place of a file, of which another link stays as long as it may be needed;
 * where the disk has no links it cannot be taken back. Returns 0 or -errno. */
static int put_in_place(struct key_transaction *change, enum layer_key kind)
{
	char from[32], to[FILE_MAX], old[32];
	bool is_new = false;

	file_name(kind, change->name, to);
	stage_name(change, (int)kind, old);
	stage_name(change, -1, from);
	if (linkat(change->dir, to, change->layer->dir, old, 0) == 0)
		change->was_there[kind] = true;
	else if (errno == ENOENT)
		is_new = true;
	else if (errno != EPERM && errno != EOPNOTSUPP && errno != EMLINK)
		return -errno;
	if (renameat(change->layer->dir, from, change->dir, to) < 0)
		return -errno;
	change->is_new = is_new;
	return fsync(change->dir) < 0 ? -errno : 0;
}

/* The file of that kind is what the layer says, durably. Files that count more than it go after
 * that, at which the change takes effect; those that count less say nothing any more. */
static int change_to(struct key_transaction *change, enum layer_key kind)
{
	char file[FILE_MAX];
	bool moved = false;
	int rc = put_in_place(change, kind);

	for (enum layer_key other = 0; rc == 0 && other < kind; other++) {
		rc = move_key_aside(change, other);
		moved |= change->was_there[other];
	}
	if (rc == 0 && moved && fsync(change->dir) < 0)
		rc = -errno;
	if (rc < 0) {
		file_name(kind, change->name, file);
		if (change->is_new)
			unlinkat(change->dir, file, 0);
		roll_back(change);
		return rc;
	}
	for (enum layer_key other = kind + 1; other < LAYER_KEY_NOTHING; other++) {
		file_name(other, change->name, file);
		unlinkat(change->dir, file, 0);
	}
	forget_old(change);
	return 0;
}

/* No file says anything any more. The one that counts goes last. */
static int change_to_nothing(struct key_transaction *change)
{
	int rc = 0;

	for (int kind = LAYER_KEY_NOTHING - 1; rc == 0 && kind >= 0; kind--)
		rc = move_key_aside(change, (enum layer_key)kind);
	if (rc == 0 && fsync(change->dir) < 0)
		rc = -errno;
	if (rc < 0)
		roll_back(change);
	else
		forget_old(change);
	return rc;
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
	struct key_transaction change = { .layer = layer, .name = name, .number = number };
	int rc;

	change.dir = open_directory(layer, true);
	if (change.dir < 0)
		return change.dir;
	rc = change_to(&change, kind);
	close(change.dir);
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

int layer_erase_key(const struct layer *layer, const char *name)
{
	const int dir = open_directory(layer, false);
	char file[FILE_MAX];
	int rc = 0;

	if (dir < 0)
		return dir == -ENOENT ? 0 : dir;
	/* The one that counts goes last. */
	for (int kind = LAYER_KEY_NOTHING - 1; rc == 0 && kind >= 0; kind--) {
		file_name((enum layer_key)kind, name, file);
		if (unlinkat(dir, file, 0) < 0 && errno != ENOENT)
			rc = -errno;
	}
	close(dir);
	return rc;
}

/* The directory, where the layer says something of the key; -ENOENT: it does not. */
static int find_key_file(struct layer *layer, const char *name)
{
	const int dir = layer->dir < 0 ? -ENOENT : open_directory(layer, false);
	char file[FILE_MAX];

	for (enum layer_key kind = 0; dir >= 0 && kind < LAYER_KEY_NOTHING; kind++) {
		file_name(kind, name, file);
		if (faccessat(dir, file, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			return dir;
	}
	if (dir >= 0)
		close(dir);
	return dir < 0 ? dir : -ENOENT;
}

int layer_revert_key(struct layer *layer, const char *name)
{
	struct key_transaction change = { .layer = layer, .name = name };
	int fd, rc;

	change.dir = find_key_file(layer, name);
	if (change.dir < 0)
		return change.dir == -ENOENT ? 0 : change.dir;
	fd = layer_stage(layer, &change.number);
	rc = fd < 0 ? fd : change_to_nothing(&change);
	if (fd >= 0) {
		close(fd);
		layer_unstage(layer, change.number);
	}
	close(change.dir);
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

static void each_file(struct layer *layer, int dir, const char *entry, layer_key_fn *found,
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
	fd = layer_open_file(dir, entry);
	if (fd < 0)
		error_set(&err, -fd, ERROR_NO_OFFSET, "%s", layer_open_error(fd));
	else
		file = backing_fdopen(fd, path, &err);
	found(context, kind, name, file, &err);
}

int layer_each_key(struct layer *layer, layer_key_fn *found, void *context)
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
