/* SPDX-License-Identifier: MIT */
/* atomic_write.c - see atomic_write.h. */
#include "fs/assemble/atomic_write.h"
#include "fs/assemble/view_writer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>
#include <xxhash.h>

#define TEMPORARY_BEGIN ".organfs-"
#define TEMPORARY_END	".part"

struct place {
	int directory;
	const char *name; /* the target in it */
	char temporary[48];
};

static int failed(struct error *err, int code, const char *what)
{
	return error_set(err, code, ERROR_NO_OFFSET, "%s: %s", what, strerror(code));
}

static const char *name_in(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int atomic_write_open_directory(const struct write_target *target, struct error *err)
{
	const char *name = name_in(target->path);
	const size_t n = (size_t)(name - target->path);
	char parent[PATH_MAX] = ".";
	int fd;

	if (n >= sizeof(parent))
		return failed(err, ENAMETOOLONG, "the target");
	if (n)
		snprintf(parent, sizeof(parent), "%.*s", (int)n, target->path);
	if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return failed(err, EISDIR, "the target");
	fd = openat(target->directory, parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? failed(err, errno, "the target's directory") : fd;
}

/* The name is borrowed. */
static struct place place_of(int directory, const char *name)
{
	struct place place = { directory, name, "" };

	/* Its own length, so that the longest name has a temporary one too. */
	snprintf(place.temporary, sizeof(place.temporary),
		 TEMPORARY_BEGIN "%016" PRIx64 TEMPORARY_END, XXH3_64bits(name, strlen(name)));
	return place;
}

static bool is_base(const struct write_target *target, const struct stat *stat)
{
	return (stat->st_dev == target->base->st_dev && stat->st_ino == target->base->st_ino) ||
	       (target->shards && shards_has_file(target->shards, stat));
}

static int check_target(const struct write_target *target, const struct place *place,
			struct error *err)
{
	struct stat stat;

	if (fstat(place->directory, &stat) < 0)
		return failed(err, errno, "the target's directory");
	if (target->mount && stat.st_dev == target->mount)
		return error_set(err, EINVAL, ERROR_NO_OFFSET,
				 "the target lies in this mount itself; "
				 "give a name outside of it");
	if (fstatat(place->directory, place->name, &stat, 0) == 0 && is_base(target, &stat))
		return error_set(err, EINVAL, ERROR_NO_OFFSET,
				 "the target is the base, which is never written to");
	if (fstatat(place->directory, place->name, &stat, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : failed(err, errno, "the target");
	if (S_ISDIR(stat.st_mode))
		return failed(err, EISDIR, "the target");
	if (!S_ISREG(stat.st_mode) && !S_ISLNK(stat.st_mode))
		return error_set(err, EINVAL, ERROR_NO_OFFSET, "the target is not a regular file");
	return target->replace ? 0 : failed(err, EEXIST, "the target");
}

/* Is it still the file of that name? Another may have been made since it was opened. */
static bool is_named(int directory, const char *name, int fd)
{
	struct stat named, opened;

	return fstatat(directory, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       fstat(fd, &opened) == 0 && named.st_dev == opened.st_dev &&
	       named.st_ino == opened.st_ino;
}

/* The temporary file, locked as long as it is written. One that nobody has locked was left by an
 * assembly that was killed. */
static int open_temporary(const struct place *place, mode_t mode, struct error *err)
{
	for (int tries = 0; tries < 10; tries++) {
		struct stat stat;
		int fd = openat(place->directory, place->temporary,
				O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
		const bool stale = fd < 0 && errno == EEXIST;

		if (stale)
			fd = openat(place->directory, place->temporary,
				    O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		if (fd < 0 && !(stale && errno == ENOENT))
			return failed(err, errno, "the temporary file beside the target");
		if (fd < 0)
			continue;
		if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
			close(fd);
			/* Ours, just made, which somebody takes for a left one. */
			if (!stale)
				continue;
			return error_set(err, EBUSY, ERROR_NO_OFFSET,
					 "another assembly to this target is under way");
		}
		/* Whoever takes over a left one removes it; the winner's is still linked. */
		if (!stale && fstat(fd, &stat) == 0 && stat.st_nlink > 0)
			return fd;
		if (stale && is_named(place->directory, place->temporary, fd))
			unlinkat(place->directory, place->temporary, 0);
		close(fd);
	}
	return failed(err, EBUSY, "the temporary file beside the target");
}

static int rename_into_place(const struct place *place, bool replace, struct error *err)
{
	int rc = renameat2(place->directory, place->temporary, place->directory, place->name,
			   replace ? 0 : RENAME_NOREPLACE);

	/* Some filesystems cannot do it in one step. */
	if (rc < 0 && errno == EINVAL && !replace &&
	    faccessat(place->directory, place->name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		rc = renameat(place->directory, place->temporary, place->directory, place->name);
	return rc < 0 ? failed(err, errno, "the target") : 0;
}

static bool is_temporary(const char *name)
{
	const size_t length = strlen(TEMPORARY_BEGIN) + 16 + strlen(TEMPORARY_END);

	return strncmp(name, TEMPORARY_BEGIN, strlen(TEMPORARY_BEGIN)) == 0 &&
	       strlen(name) == length &&
	       strcmp(name + length - strlen(TEMPORARY_END), TEMPORARY_END) == 0;
}

/* Remove what assemblies to other targets left there when they were killed. */
static void remove_left(const struct place *place)
{
	const int again = openat(place->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = again < 0 ? NULL : fdopendir(again);
	const struct dirent *entry;

	if (!directory && again >= 0)
		close(again);
	while (directory && (entry = readdir(directory))) {
		int fd;

		if (!is_temporary(entry->d_name))
			continue;
		fd = openat(place->directory, entry->d_name,
			    O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
		    is_named(place->directory, entry->d_name, fd))
			unlinkat(place->directory, entry->d_name, 0);
		if (fd >= 0)
			close(fd);
	}
	if (directory)
		closedir(directory);
}

/* What the temporary file is to be, opened for reading. Before the rename, so that nobody else can
 * have written to it. */
static struct backing *open_written(const struct place *place, int fd)
{
	char link[40], path[PATH_MAX];
	struct error err = { 0 };
	ssize_t n;
	int again;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", place->directory);
	n = readlink(link, path, sizeof(path));
	if (n <= 0 || (size_t)n + strlen(place->name) + 2 > sizeof(path))
		return NULL;
	snprintf(path + n, sizeof(path) - (size_t)n, "/%s", place->name);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	again = open(link, O_RDONLY | O_CLOEXEC);
	return again < 0 ? NULL : backing_fdopen(again, path, &err);
}

struct atomic_write {
	struct place place;
	char name[NAME_MAX + 1];
	bool replace, renamed;
	int fd; /* of the temporary file */
	struct backing *written, **tell;
	struct written_files *record;
	bool *placed;
};

/* The temporary file is whole and durable, or gone. */
static int fill(struct atomic_write *assembling, struct view *view,
		const struct write_target *target, struct progress *progress, struct error *err)
{
	const struct place *place = &assembling->place;
	/* A base that only its owner may read does not become a model that anybody may. */
	const mode_t mode = (target->base->st_mode & 0666) | 0600;
	int rc;

	if (!target->swept)
		remove_left(place);
	assembling->fd = open_temporary(place, mode, err);
	if (assembling->fd < 0)
		return assembling->fd;
	rc = view_write(assembling->fd, view, progress, err);
	if (rc == 0 && fsync(assembling->fd) < 0)
		rc = failed(err, errno, "writing");
	if (rc == 0 && target->written)
		assembling->written = open_written(place, assembling->fd);
	return rc;
}

int atomic_write_check(const struct write_target *target, struct error *err)
{
	const int directory = atomic_write_open_directory(target, err);
	struct place place;
	int rc;

	if (directory < 0)
		return directory;
	place = place_of(directory, name_in(target->path));
	rc = check_target(target, &place, err);
	close(directory);
	return rc;
}

struct atomic_write *atomic_write_begin(struct view *view, const struct write_target *target,
					int directory, struct progress *progress, struct error *err)
{
	struct atomic_write *assembling = calloc(1, sizeof(*assembling));
	int rc;

	if (!assembling) {
		failed(err, ENOMEM, "the target");
		return NULL;
	}
	assembling->fd = -1;
	assembling->replace = target->replace;
	assembling->tell = target->written;
	assembling->record = target->record;
	assembling->placed = target->placed;
	assembling->place = place_of(directory, name_in(target->path));
	rc = check_target(target, &assembling->place, err);
	if (rc == 0 && strlen(assembling->place.name) > NAME_MAX)
		rc = failed(err, ENAMETOOLONG, "the target");
	if (rc == 0) {
		/* The target's path need not live as long. */
		strcpy(assembling->name, assembling->place.name);
		assembling->place.name = assembling->name;
		rc = fill(assembling, view, target, progress, err);
	}
	if (rc == 0)
		return assembling;
	atomic_write_end(assembling, false);
	return NULL;
}

int atomic_write_commit(struct atomic_write *assembling, struct error *err)
{
	const struct place *place = &assembling->place;
	const int rc = rename_into_place(place, assembling->replace, err);

	if (rc < 0)
		return rc;
	assembling->renamed = true;
	if (fsync(place->directory) < 0 && errno != EINVAL)
		return failed(err, errno, "the target is written, but its directory");
	return 0;
}

void atomic_write_end(struct atomic_write *assembling, bool stays)
{
	const struct place *place = &assembling->place;

	/* An older file is gone for good. */
	if (!stays && assembling->renamed && assembling->replace && assembling->placed)
		*assembling->placed = true;
	if (!stays && assembling->renamed && !assembling->replace)
		unlinkat(place->directory, place->name, 0);
	if (stays && assembling->renamed && assembling->record)
		written_files_add(assembling->record, place->directory, place->name,
				  assembling->fd);
	if (!assembling->renamed && assembling->fd >= 0)
		unlinkat(place->directory, place->temporary, 0);
	if (stays && assembling->renamed && assembling->tell)
		*assembling->tell = assembling->written;
	else
		backing_unref(assembling->written);
	if (assembling->fd >= 0)
		close(assembling->fd);
	free(assembling);
}

int atomic_write_view(struct view *view, const struct write_target *target,
		      struct progress *progress, struct error *err)
{
	struct atomic_write *assembling;
	int rc, directory;

	progress_begin(progress, view_size(view));
	directory = atomic_write_open_directory(target, err);
	if (directory < 0)
		return directory;
	assembling = atomic_write_begin(view, target, directory, progress, err);
	rc = assembling ? atomic_write_commit(assembling, err) : -err->code;
	if (assembling)
		atomic_write_end(assembling, rc == 0);
	close(directory);
	return rc;
}
