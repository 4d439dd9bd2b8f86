/* SPDX-License-Identifier: MIT */
/* layer_files.c - see layer.h: the files in a layer. */
#include "fs/io.h"
#include "fs/layer_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The longest name that a slot's file could have; the disk refuses it where it is too long. */
#define FILE_MAX (NAME_MAX + 16)

/* There is a directory from now on. */
static int ensure(struct layer *layer)
{
	int rc;

	pthread_mutex_lock(&layer->lock);
	rc = layer_ensure(layer);
	pthread_mutex_unlock(&layer->lock);
	return rc;
}

static void stage_name(unsigned number, char name[24])
{
	snprintf(name, 24, ".stage/%u", number);
}

int layer_stage(struct layer *layer, unsigned *number)
{
	char name[24];
	int fd;

	pthread_mutex_lock(&layer->lock);
	fd = layer_ensure(layer);
	if (fd == 0 && mkdirat(layer->dir, ".stage", 0700) < 0 && errno != EEXIST)
		fd = -errno;
	if (fd == 0) {
		*number = layer->next_stage++;
		stage_name(*number, name);
		fd = openat(layer->dir, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd < 0)
			fd = -errno;
	}
	pthread_mutex_unlock(&layer->lock);
	return fd;
}

void layer_unstage(struct layer *layer, unsigned number)
{
	char name[24];

	stage_name(number, name);
	unlinkat(layer->dir, name, 0);
}

static int open_class(const struct layer *layer, enum organ_class klass, bool make)
{
	int fd = openat(layer->dir, class_name(klass),
			O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (fd >= 0 || errno != ENOENT || !make)
		return fd < 0 ? -errno : fd;
	if (mkdirat(layer->dir, class_name(klass), 0700) < 0 || fsync(layer->dir) < 0)
		return -errno;
	return open_class(layer, klass, false);
}

/* The name of the file that says what a slot holds. */
static void file_name(enum layer_kind kind, const char *name, char out[FILE_MAX])
{
	static const char *const forms[] = { [LAYER_WHITEOUT] = ".wh.%s.bin",
					     [LAYER_REFERENCE] = "%s.bin.ref",
					     [LAYER_ORGAN] = "%s.bin",
					     [LAYER_LINK] = "%s.bin" };
	const char *form = forms[kind];
	const size_t before = (size_t)(strchr(form, '%') - form);

	snprintf(out, FILE_MAX, "%.*s%s%s", (int)before, form, name, form + before + 2);
}

/* What the slot holds now is durable; what it held before goes. */
static int settle(int dir, enum layer_kind kind, const char *name)
{
	bool gone = false;

	if (fsync(dir) < 0)
		return -errno;
	for (enum layer_kind other = 0; other <= LAYER_ORGAN; other++) {
		char file[FILE_MAX];

		if (other == kind || (other == LAYER_ORGAN && kind == LAYER_LINK))
			continue;
		file_name(other, name, file);
		if (unlinkat(dir, file, 0) == 0)
			gone = true;
		else if (errno != ENOENT)
			return -errno;
	}
	return gone && fsync(dir) < 0 ? -errno : 0;
}

/* Put stage number in place as what the slot holds. */
static int put(struct layer *layer, unsigned number, int dir, enum layer_kind kind,
	       const char *name)
{
	char from[24], to[FILE_MAX];

	stage_name(number, from);
	file_name(kind, name, to);
	return renameat(layer->dir, from, dir, to) < 0 ? -errno : settle(dir, kind, name);
}

int layer_keep(struct layer *layer, unsigned number, enum organ_class klass, const char *name)
{
	const int dir = open_class(layer, klass, true);
	char from[24];
	int fd, rc;

	if (dir < 0)
		return dir;
	stage_name(number, from);
	/* Opened before the rename: after it nothing may fail but the durability itself. */
	fd = openat(layer->dir, from, O_RDONLY | O_CLOEXEC);
	rc = fd < 0 ? -errno : put(layer, number, dir, LAYER_ORGAN, name);
	if (rc < 0 && fd >= 0)
		close(fd);
	close(dir);
	return rc < 0 ? rc : fd;
}

static int set_mtime(int fd, const struct timespec *mtime)
{
	const struct timespec times[2] = { *mtime, *mtime };

	return futimens(fd, times) < 0 ? -errno : 0;
}

int layer_prepare(struct layer *layer, enum organ_class klass, const char *text,
		  const struct timespec *mtime, unsigned *number)
{
	const size_t n = strlen(text);
	const int fd = layer_stage(layer, number);
	int dir, rc;

	if (fd < 0)
		return fd;
	rc = io_write(fd, text, n, 0);
	if (rc == 0 && mtime)
		rc = set_mtime(fd, mtime);
	if (rc == 0 && fsync(fd) < 0)
		rc = -errno;
	close(fd);
	dir = rc == 0 ? open_class(layer, klass, true) : rc;
	if (dir >= 0)
		close(dir);
	else
		layer_unstage(layer, *number);
	return dir < 0 ? dir : 0;
}

int layer_put(struct layer *layer, unsigned number, enum layer_kind kind, enum organ_class klass,
	      const char *name)
{
	const int dir = open_class(layer, klass, true);
	const int rc = dir < 0 ? dir : put(layer, number, dir, kind, name);

	if (dir >= 0)
		close(dir);
	if (rc < 0)
		layer_unstage(layer, number);
	return rc;
}

int layer_write(struct layer *layer, enum layer_kind kind, enum organ_class klass, const char *name,
		const char *text, const struct timespec *mtime)
{
	unsigned number;
	const int rc = layer_prepare(layer, klass, text, mtime, &number);

	return rc < 0 ? rc : layer_put(layer, number, kind, klass, name);
}

int layer_symlink(struct layer *layer, enum organ_class klass, const char *name, const char *target,
		  uid_t uid, gid_t gid)
{
	const int rc = ensure(layer), dir = rc < 0 ? rc : open_class(layer, klass, true);
	char stage[24];
	unsigned number;
	int fd = dir < 0 ? dir : layer_stage(layer, &number), done;

	if (fd < 0) {
		if (dir >= 0)
			close(dir);
		return fd;
	}
	close(fd);
	layer_unstage(layer, number);
	stage_name(number, stage);
	done = symlinkat(target, layer->dir, stage) < 0 ? -errno : 0;
	/* Only root can say whose it is, and only root acts for others. */
	if (done == 0 && geteuid() == 0 &&
	    fchownat(layer->dir, stage, uid, gid, AT_SYMLINK_NOFOLLOW) < 0)
		done = -errno;
	if (done == 0)
		done = put(layer, number, dir, LAYER_LINK, name);
	if (done < 0)
		layer_unstage(layer, number);
	close(dir);
	return done;
}

int layer_forget(struct layer *layer, enum organ_class klass, const char *name)
{
	/* Without a directory it says nothing about anything. */
	const int dir = layer->dir < 0 ? -ENOENT : open_class(layer, klass, false);
	int rc;

	if (dir < 0)
		return dir == -ENOENT ? 0 : dir;
	rc = settle(dir, LAYER_NOTHING, name);
	close(dir);
	return rc;
}

/* One more name, in the stage of layer, for the slot's organ file. Returns a read-only
 * descriptor of it or -errno. */
static int link_stage(struct layer *layer, int dir, const char *name, const char *stage)
{
	char file[FILE_MAX];
	int fd;

	file_name(LAYER_ORGAN, name, file);
	if (linkat(dir, file, layer->dir, stage, 0) < 0)
		return -errno;
	fd = openat(layer->dir, stage, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int link_into(struct layer *layer, int from, const char *name, int to, const char *new_name)
{
	char stage[24];
	unsigned number;
	int fd = layer_stage(layer, &number), rc;

	if (fd < 0)
		return fd;
	close(fd);
	layer_unstage(layer, number);
	stage_name(number, stage);
	fd = link_stage(layer, from, name, stage);
	rc = fd < 0 ? fd : put(layer, number, to, LAYER_ORGAN, new_name);
	if (rc < 0 && fd >= 0)
		close(fd);
	/* A rename of one name of a file onto another leaves both. */
	unlinkat(layer->dir, stage, 0);
	return rc < 0 ? rc : fd;
}

int layer_link(struct layer *from, enum organ_class klass, const char *name, struct layer *to,
	       enum organ_class new_class, const char *new_name)
{
	const int old = open_class(from, klass, false);
	const int rc = old < 0 ? old : ensure(to);
	const int new = rc < 0 ? rc : open_class(to, new_class, true);
	const int fd = new < 0 ? new : link_into(to, old, name, new, new_name);

	if (old >= 0)
		close(old);
	if (new >= 0)
		close(new);
	return fd;
}

int layer_note(struct layer *layer, const char *text)
{
	const size_t n = strlen(text);
	unsigned number;
	char stage[24];
	const int fd = layer_stage(layer, &number);
	int rc;

	if (fd < 0)
		return fd;
	stage_name(number, stage);
	rc = io_write(fd, text, n, 0);
	if (rc == 0 && (fsync(fd) < 0 || renameat(layer->dir, stage, layer->dir, "MOVING") < 0 ||
			fsync(layer->dir) < 0))
		rc = -errno;
	close(fd);
	if (rc < 0)
		layer_unstage(layer, number);
	return rc;
}

size_t layer_noted(struct layer *layer, char *text, size_t n)
{
	const int fd = layer->dir < 0
			       ? -1
			       : openat(layer->dir, "MOVING", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t got = fd < 0 ? 0 : io_read(fd, text, n - 1, 0);

	if (fd >= 0)
		close(fd);
	if (got < 0)
		got = 0;
	text[got] = '\0';
	return (size_t)got;
}

int layer_noted_done(struct layer *layer)
{
	if (unlinkat(layer->dir, "MOVING", 0) < 0 && errno != ENOENT)
		return -errno;
	return fsync(layer->dir) < 0 ? -errno : 0;
}

/* The slot that a file says something about, and what. False: it is none of ours. */
static bool parse_name(const char *entry, enum layer_kind *kind, char name[NAME_MAX + 1])
{
	size_t n = strlen(entry);

	*kind = LAYER_ORGAN;
	if (strncmp(entry, ".wh.", 4) == 0) {
		*kind = LAYER_WHITEOUT;
		entry += 4;
		n -= 4;
	} else if (n > 4 && strcmp(entry + n - 4, ".ref") == 0) {
		*kind = LAYER_REFERENCE;
		n -= 4;
	}
	if (n < 5 || n > NAME_MAX || strncmp(entry + n - 4, ".bin", 4) != 0)
		return false;
	snprintf(name, NAME_MAX + 1, "%.*s", (int)(n - 4), entry);
	return true;
}

/* Is there a file that counts more? One of the two is what was to be forgotten when the daemon was
 * killed. */
static bool is_superseded(int dir, enum layer_kind kind, const char *name)
{
	for (enum layer_kind other = 0; other < kind; other++) {
		char file[FILE_MAX];

		file_name(other, name, file);
		if (faccessat(dir, file, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
			return true;
	}
	return false;
}

/* Is it a symbolic link? Its target goes into text. */
static bool read_link(int dir, const char *entry, struct layer_entry *what, char text[PATH_MAX])
{
	const ssize_t n = readlinkat(dir, entry, text, PATH_MAX - 1);

	if (n < 0 || fstatat(dir, entry, &what->stat, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	text[n] = '\0';
	what->kind = LAYER_LINK;
	what->target = text;
	return true;
}

static void each_file(struct layer *layer, int dir, enum organ_class klass, const char *entry,
		      layer_found *found, void *context)
{
	struct layer_entry what = { .klass = klass };
	char name[NAME_MAX + 1], path[PATH_MAX];
	struct error err = { 0 };
	int fd;

	if (!parse_name(entry, &what.kind, name) || is_superseded(dir, what.kind, name))
		return;
	what.name = name;
	if (what.kind == LAYER_ORGAN && read_link(dir, entry, &what, path)) {
		found(context, &what, &err);
		return;
	}
	snprintf(path, sizeof(path), "%s/%s/%s", layer->path, class_name(klass), entry);
	fd = openat(dir, entry, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		error_set(&err, errno, ERROR_NO_OFFSET, "%s", strerror(errno));
	else
		what.file = backing_adopt(fd, path, &err);
	found(context, &what, &err);
}

int layer_each(struct layer *layer, layer_found *found, void *context)
{
	int rc = 0;

	for (enum organ_class klass = 0; layer->dir >= 0 && klass < CLASSES; klass++) {
		const int fd = open_class(layer, klass, false);
		DIR *entries = fd < 0 ? NULL : fdopendir(fd);
		const struct dirent *entry;

		if (fd < 0 && fd != -ENOENT)
			rc = fd;
		if (fd >= 0 && !entries) {
			rc = -errno;
			close(fd);
		}
		while (entries && (errno = 0, entry = readdir(entries)))
			each_file(layer, fd, klass, entry->d_name, found, context);
		if (entries && errno)
			rc = -errno;
		if (entries)
			closedir(entries);
	}
	return rc;
}
