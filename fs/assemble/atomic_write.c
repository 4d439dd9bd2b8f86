/* SPDX-License-Identifier: MIT */
/* atomic_write.c - see atomic_write.h. */
#include "fs/assemble/atomic_write.h"
#include "fs/assemble/view_writer.h"
#include "fs/base/shards.h"
#include "fs/storage/backing.h"
#include "fs/storage/file_use.h"
#include "fs/storage/view.h"
#include "fs/util/disk.h"
#include "fs/util/mountinfo.h"
#include "fs/util/paths.h"
#include "fs/util/progress.h"
#include "gguf/error.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <xxhash.h>

#define TEMPORARY_BEGIN ".organfs-"
#define TEMPORARY_END	".part"

/* A file that is written under a temporary name and renamed to the target's. */
struct temporary_file {
	int directory;	    /* directory of both names */
	const char *target; /* name of the target */
	char name[48];	    /* temporary name */
	int fd;		    /* -1: not open */
	bool renamed;
	struct backing *reading; /* the same file, open for reading */
};

/* Path of the name in the open directory, to free. NULL: unknown. */
static char *path_of(int directory, const char *name)
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
	if (file && fstat(fd, &file->stat) == 0 && (file->path = path_of(directory, name)))
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

struct written_files written_files_copy(const struct written_files *written)
{
	struct written_files copy = { .unknown = written->unknown,
				      .files = calloc(written->n, sizeof(*written->files)) };

	for (size_t i = 0; copy.files && i < written->n; i++) {
		copy.files[i] = written->files[i];
		copy.files[i].path = strdup(written->files[i].path);
		copy.n += copy.files[i].path != NULL;
		if (copy.n != i + 1)
			break;
	}
	copy.unknown |= copy.n != written->n;
	return copy;
}

void written_files_release(struct written_files *written)
{
	for (size_t i = 0; i < written->n; i++)
		free(written->files[i].path);
	free(written->files);
	*written = (struct written_files){ 0 };
}

static int failed(struct error *err, int code, const char *what)
{
	return error_set(err, code, ERROR_NO_OFFSET, "%s: %s", what, strerror(code));
}

/* Open the target's directory. Returns a descriptor or -errno. */
static int open_directory(const struct write_target *target, struct error *err)
{
	const char *name = basename(target->path);
	const size_t n = (size_t)(name - target->path);
	char parent[PATH_MAX] = ".";
	int fd;

	if (n >= sizeof(parent))
		return failed(err, ENAMETOOLONG, "the target");
	if (n)
		snprintf(parent, sizeof(parent), "%.*s", (int)n, target->path);
	if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return failed(err, EISDIR, "the target");
	fd = paths_open(target->directory, parent, O_RDONLY | O_DIRECTORY);
	if (fd == -ELOOP)
		return error_set(err, ELOOP, ERROR_NO_OFFSET,
				 "the target's directory: too many links, or one in /proc, which "
				 "is not followed");
	return fd < 0 ? failed(err, -fd, "the target's directory") : fd;
}

/* A temporary file that is not made yet. path is borrowed. */
static struct temporary_file temporary_of(int directory, const char *path)
{
	struct temporary_file file = { .directory = directory, .target = basename(path), .fd = -1 };

	/* The temporary name has a fixed length, so that the longest target name has one too. */
	snprintf(file.name, sizeof(file.name), TEMPORARY_BEGIN "%016" PRIx64 TEMPORARY_END,
		 XXH3_64bits(file.target, strlen(file.target)));
	return file;
}

static bool is_base_file(const struct write_target *target, const struct stat *stat)
{
	return (stat->st_dev == target->base->st_dev && stat->st_ino == target->base->st_ino) ||
	       (target->shards && shards_has_file(target->shards, stat)) ||
	       (target->replace && target->is_other_base &&
		target->is_other_base(target->context, stat));
}

/* Whether the name, which may be a link, leads to the base. */
static bool is_base(const struct write_target *target, const struct temporary_file *file)
{
	const int fd = paths_open(file->directory, file->target, O_PATH);
	struct stat stat;
	bool is;

	if (fd < 0)
		return false;
	is = fstat(fd, &stat) == 0 && is_base_file(target, &stat);
	close(fd);
	return is;
}

/* Open the regular file that the name, which may be a link, leads to, for reading. Returns a
 * descriptor, -ENOENT if there is none, or -errno of open(2). */
static int open_target(const struct temporary_file *file)
{
	struct stat stat;

	/* Opening a device may have effects. */
	if (fstatat(file->directory, file->target, &stat, 0) < 0 || !S_ISREG(stat.st_mode))
		return -ENOENT;
	return paths_open(file->directory, file->target, O_RDONLY | O_NONBLOCK | O_NOCTTY);
}

/* Refuse the file open as fd because it is in use; name the mount if one has that base. */
static int refuse_used(int fd, struct error *err)
{
	struct mountinfo wanted = { .id = -1 }, mount;
	char link[40], path[PATH_MAX] = "";
	bool known;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (readlink(link, path, sizeof(path) - 1) < 0)
		path[0] = '\0';
	wanted.source = path;
	known = mountinfo_find(mountinfo_has_model, &wanted, &mount);
	error_set(err, EBUSY, ERROR_NO_OFFSET,
		  "the target is the base or a donor of %s%.160s; unmount that first, or give "
		  "another name",
		  known ? "the mount at " : "a mount of organfs", known ? mount.point : "");
	mountinfo_release(&mount);
	return -EBUSY;
}

/* Refuse a target that a mount, or a command of organfs, has open as a base or donor, as far as
 * file_use.h knows. Returns 0, -EBUSY, or -errno if the target cannot be opened for the check. */
static int check_use(const struct temporary_file *file, struct error *err)
{
	const int fd = open_target(file);
	int rc = 0;

	if (fd < 0)
		return fd == -ENOENT ? 0 : failed(err, -fd, "the target");
	if (disk_place(fd) != DISK_ELSEWHERE &&
	    file_use_is_announced(fd, FILE_USE_BASE | FILE_USE_DONOR) > 0)
		rc = refuse_used(fd, err);
	close(fd);
	return rc;
}

/* Value of the mark of a file open as fd; a write by another program changes the file's value. */
#define MARK_MAX 64
static bool mark_of(int fd, char text[MARK_MAX])
{
	struct stat stat;

	if (fstat(fd, &stat) < 0)
		return false;
	snprintf(text, MARK_MAX, "%" PRId64 " %" PRId64 ".%09ld", (int64_t)stat.st_size,
		 (int64_t)stat.st_mtim.tv_sec, stat.st_mtim.tv_nsec);
	return true;
}

/* Whether the existing file may be replaced. */
static bool may_replace(const struct write_target *target, const struct temporary_file *file)
{
	const int fd = target->replace == REPLACE_MARKED ? open_target(file) : -1;
	char is[MARK_MAX], marked[MARK_MAX];
	ssize_t n = -1;

	if (fd >= 0 && mark_of(fd, is))
		n = fgetxattr(fd, ATOMIC_WRITE_MARK, marked, sizeof(marked));
	if (fd >= 0)
		close(fd);
	return target->replace == REPLACE_ANY ||
	       (n > 0 && (size_t)n == strlen(is) && memcmp(marked, is, (size_t)n) == 0);
}

static int check_target(const struct write_target *target, const struct temporary_file *file,
			struct error *err)
{
	struct stat stat;
	int rc;

	if (fstat(file->directory, &stat) < 0)
		return failed(err, errno, "the target's directory");
	if (target->mount && stat.st_dev == target->mount)
		return error_set(err, EINVAL, ERROR_NO_OFFSET,
				 "the target lies in this mount itself; "
				 "give a name outside of it");
	if (is_base(target, file))
		return error_set(err, EINVAL, ERROR_NO_OFFSET,
				 "the target is the base of an open model, which is never written "
				 "to; give another name");
	if (fstatat(file->directory, file->target, &stat, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : failed(err, errno, "the target");
	if (S_ISDIR(stat.st_mode))
		return failed(err, EISDIR, "the target");
	if (!S_ISREG(stat.st_mode) && !S_ISLNK(stat.st_mode))
		return error_set(err, EINVAL, ERROR_NO_OFFSET, "the target is not a regular file");
	rc = check_use(file, err);
	if (rc < 0 || may_replace(target, file))
		return rc;
	return target->replace == REPLACE_NONE
		       ? failed(err, EEXIST, "the target")
		       : error_set(err, EEXIST, ERROR_NO_OFFSET,
				   "the target exists, and organfs did not write its content; to "
				   "replace it, put a ! before its name in .assemble, or give -f "
				   "to --pack or --quantise");
}

/* Whether the name still leads to the file open as fd: another file may have replaced it. */
static bool is_named(int directory, const char *name, int fd)
{
	struct stat named, opened;

	return fstatat(directory, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       fstat(fd, &opened) == 0 && named.st_dev == opened.st_dev &&
	       named.st_ino == opened.st_ino;
}

/* Open the temporary file, locked while it is written. A killed process leaves an unlocked one. */
static int open_temporary(const struct temporary_file *file, mode_t mode, struct error *err)
{
	for (int tries = 0; tries < 10; tries++) {
		struct stat stat;
		int fd = openat(file->directory, file->name,
				O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
		const bool stale = fd < 0 && errno == EEXIST;

		if (stale)
			fd = openat(file->directory, file->name,
				    O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		if (fd < 0 && !(stale && errno == ENOENT))
			return failed(err, errno, "the temporary file beside the target");
		if (fd < 0)
			continue;
		if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
			close(fd);
			/* Lost a race: another process locked the file just created, taking it for
			 * a left one. Try again. */
			if (!stale)
				continue;
			return error_set(err, EBUSY, ERROR_NO_OFFSET,
					 "another process of organfs is writing this file: try "
					 "again when it has ended");
		}
		/* A process that takes over a left file removes it; the winner's is still
		 * linked. */
		if (!stale && fstat(fd, &stat) == 0 && stat.st_nlink > 0)
			return fd;
		if (stale && is_named(file->directory, file->name, fd))
			unlinkat(file->directory, file->name, 0);
		close(fd);
	}
	return failed(err, EBUSY, "the temporary file beside the target");
}

static int rename_into_place(const struct temporary_file *file, bool replace, struct error *err)
{
	int rc = renameat2(file->directory, file->name, file->directory, file->target,
			   replace ? 0 : RENAME_NOREPLACE);

	/* Some filesystems have no RENAME_NOREPLACE. */
	if (rc < 0 && errno == EINVAL && !replace &&
	    faccessat(file->directory, file->target, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		rc = renameat(file->directory, file->name, file->directory, file->target);
	return rc < 0 ? failed(err, errno, "the target") : 0;
}

static bool is_temporary(const char *name)
{
	const size_t length = strlen(TEMPORARY_BEGIN) + 16 + strlen(TEMPORARY_END);

	return strncmp(name, TEMPORARY_BEGIN, strlen(TEMPORARY_BEGIN)) == 0 &&
	       strlen(name) == length &&
	       strcmp(name + length - strlen(TEMPORARY_END), TEMPORARY_END) == 0;
}

void atomic_write_clean(int directory_fd)
{
	const int again = openat(directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = again < 0 ? NULL : fdopendir(again);
	const struct dirent *entry;

	if (!directory && again >= 0)
		close(again);
	while (directory && (entry = readdir(directory))) {
		int fd;

		if (!is_temporary(entry->d_name))
			continue;
		fd = openat(directory_fd, entry->d_name,
			    O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
		    is_named(directory_fd, entry->d_name, fd))
			unlinkat(directory_fd, entry->d_name, 0);
		if (fd >= 0)
			close(fd);
	}
	if (directory)
		closedir(directory);
}

/* Reopen the temporary file for reading, under its target's path, before the rename: no other
 * process can have written to it. */
static struct backing *open_written(const struct temporary_file *file)
{
	char *path = path_of(file->directory, file->target), link[40];
	struct backing *written = NULL;
	int again = -1;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", file->fd);
	if (path)
		again = open(link, O_RDONLY | O_CLOEXEC);
	if (again >= 0)
		written = backing_fdopen(again, path, NULL);
	free(path);
	return written;
}

int atomic_write_check(const struct write_target *target, struct error *err)
{
	const int directory = open_directory(target, err);
	struct temporary_file file;
	int rc;

	if (directory < 0)
		return directory;
	file = temporary_of(directory, target->path);
	rc = check_target(target, &file, err);
	close(directory);
	return rc;
}

/* Write the temporary file and make it durable. */
static int write_temporary(struct temporary_file *file, struct view *view,
			   const struct write_target *target, struct progress *progress,
			   struct error *err)
{
	/* An assembled model is as private as its base. */
	const mode_t mode = (target->base->st_mode & 0666) | 0600;
	char mark[MARK_MAX];
	int rc;

	file->fd = open_temporary(file, mode, err);
	if (file->fd < 0)
		return file->fd;
	rc = view_write(file->fd, view, progress, err);
	if (target->one_of_many)
		return rc;
	/* A filesystem without attributes is no error. */
	if (rc == 0 && mark_of(file->fd, mark))
		fsetxattr(file->fd, ATOMIC_WRITE_MARK, mark, strlen(mark), 0);
	if (rc == 0 && fsync(file->fd) < 0)
		rc = failed(err, errno, "writing");
	if (rc == 0 && target->written)
		file->reading = open_written(file);
	return rc;
}

/* Rename the file to the target and make the name durable. */
static int commit(struct temporary_file *file, const struct write_target *target, struct error *err)
{
	int rc = rename_into_place(file, target->replace != REPLACE_NONE, err);

	if (rc < 0)
		return rc;
	file->renamed = true;
	if (target->one_of_many)
		return 0;
	rc = disk_sync_directory(file->directory);
	/* EINVAL: the filesystem cannot sync directories. */
	if (rc < 0 && rc != -EINVAL)
		return failed(err, -rc, "the target is written, but its directory");
	return 0;
}

/* Close the file, which stays in the target's place or goes. */
static void end(struct temporary_file *file, const struct write_target *target, bool stays)
{
	if (stays && target->record)
		written_files_add(target->record, file->directory, file->target, file->fd);
	if (stays && target->written)
		*target->written = file->reading;
	else
		backing_unref(file->reading);
	/* The file that it replaced cannot be restored. */
	if (!stays && file->renamed && target->replace && target->placed)
		*target->placed = true;
	if (!stays && file->renamed && !target->replace)
		unlinkat(file->directory, file->target, 0);
	if (!file->renamed && file->fd >= 0)
		unlinkat(file->directory, file->name, 0);
	if (file->fd >= 0)
		close(file->fd);
}

static int write_files(struct temporary_file *all, const struct write_file *files, uint32_t n,
		       const struct write_target *target, int directory, struct progress *progress,
		       struct error *err)
{
	uint32_t begun = 0;
	int rc = 0;

	for (; rc == 0 && begun < n; begun++) {
		all[begun] = temporary_of(directory, files[begun].path);
		rc = check_target(target, &all[begun], err);
		if (rc == -EEXIST && target->several)
			error_set(err, EEXIST, ERROR_NO_OFFSET,
				  "%.180s exists, and shards are not replaced", files[begun].path);
		if (rc == 0 && begun == 0 && !target->one_of_many)
			atomic_write_clean(directory);
		if (rc == 0)
			rc = write_temporary(&all[begun], files[begun].view, target, progress, err);
	}
	/* Check again: a mount may use the target by now, or another program may have made it. */
	for (uint32_t k = n; rc == 0 && k-- > 0;) {
		rc = check_target(target, &all[k], err);
		if (rc == 0)
			rc = commit(&all[k], target, err);
	}
	for (uint32_t k = 0; k < begun; k++)
		end(&all[k], target, rc == 0);
	return rc;
}

int atomic_write_files(const struct write_file *files, uint32_t n,
		       const struct write_target *target, struct progress *progress,
		       struct error *err)
{
	struct temporary_file *all = calloc(n, sizeof(*all));
	uint64_t total = 0;
	int directory, rc;

	for (uint32_t k = 0; k < n; k++)
		total += view_size(files[k].view);
	progress_begin(progress, total);
	directory = all ? open_directory(target, err) : failed(err, ENOMEM, "the target");
	rc = directory;
	if (directory >= 0) {
		rc = write_files(all, files, n, target, directory, progress, err);
		close(directory);
	}
	free(all);
	return rc;
}

int atomic_write_view(struct view *view, const struct write_target *target,
		      struct progress *progress, struct error *err)
{
	const struct write_file file = { (char *)target->path, view };

	return atomic_write_files(&file, 1, target, progress, err);
}
