/* SPDX-License-Identifier: MIT */
/* unpack_command.c - see unpack_command.h. */
#include "fs/commands/unpack_command.h"
#include "fs/assemble/atomic_write.h"
#include "fs/commands/offline_models.h"
#include "fs/commands/offline_tree.h"
#include "fs/commands/stop_signals.h"
#include "fs/commands/terminal_progress.h"
#include "fs/model/model.h"
#include "fs/mount/mount.h"
#include "fs/storage/backing.h"
#include "fs/storage/view.h"
#include "fs/tree/family.h"
#include "fs/util/io.h"
#include "fs/util/plural.h"
#include "fs/util/progress.h"
#include "gguf/error.h"
#include "gguf/gather.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK ((size_t)1 << 20)

struct unpack {
	struct offline_tree tree;
	const char *given; /* the directory as given */
	int root;	   /* its descriptor; -1: not open */
	struct stop_signals watch;
	struct progress progress;	    /* of the current file */
	atomic_uint_fast64_t before, total; /* bytes of finished files, and of all organs */
	uint32_t organs, kept;
	char *chunk; /* two of CHUNK bytes */
};

/* Result of comparing a file in the directory with the tree's. */
enum found { FOUND_NONE, FOUND_SAME, FOUND_OTHER };

static int say(const struct unpack *unpack, const char *path, const char *why)
{
	return offline_models_report("%s/%s: %s", unpack->given, path, why);
}

static int say_interrupted(const struct unpack *unpack)
{
	return offline_models_report("%s: interrupted; the same command goes on from here",
				     unpack->given);
}

/* The last component of a path. */
static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Compare the bytes of an open file and a view. Returns enum found, or -errno of reading
 * the view. */
static int compare_bytes(struct unpack *unpack, int fd, struct view *view)
{
	const uint64_t size = view_size(view);
	char *ours = unpack->chunk, *theirs = ours + CHUNK;

	for (uint64_t at = 0, n; at < size; at += n) {
		ssize_t got;

		n = size - at < CHUNK ? size - at : CHUNK;
		got = view_read_cancellable(view, ours, n, at, &unpack->watch.stopped);
		if (got >= 0 && (uint64_t)got != n)
			got = -EIO;
		if (got < 0)
			return (int)got;
		if (io_read(fd, theirs, n, at) != (ssize_t)n || memcmp(ours, theirs, n) != 0)
			return FOUND_OTHER;
		atomic_store(&unpack->progress.done, at + n);
	}
	return FOUND_SAME;
}

/* Compare the file of that name with the view; a symbolic link is not followed. */
static int compare(struct unpack *unpack, int directory, const char *name, struct view *view)
{
	const int fd =
		openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat stat;
	int found;

	if (fd < 0)
		return errno == ENOENT ? FOUND_NONE : FOUND_OTHER;
	if (fstat(fd, &stat) < 0 || !S_ISREG(stat.st_mode) ||
	    (uint64_t)stat.st_size != view_size(view))
		found = FOUND_OTHER;
	else
		found = compare_bytes(unpack, fd, view);
	close(fd);
	return found;
}

static int write_file(struct unpack *unpack, int directory, const char *path, struct view *view)
{
	const struct options *options = &unpack->tree.options;
	const struct write_target target = {
		.directory = directory,
		.path = name_of(path),
		.replace = options->foreground ? REPLACE_ANY : REPLACE_NONE,
		.base = backing_stat(unpack->tree.model->base),
		.shards = unpack->tree.model->shards,
		.one_of_many = true,
	};
	struct error err = { 0 };
	const int rc = atomic_write_view(view, &target, &unpack->progress, &err);

	return rc == -EINTR ? say_interrupted(unpack) : rc < 0 ? say(unpack, path, err.text) : 0;
}

/* Write the view to path in the directory, unless the file has these bytes. Returns 0, or -1 after
 * a line on stderr. */
static int put_view(struct unpack *unpack, int directory, const char *path, struct view *view)
{
	const int found = compare(unpack, directory, name_of(path), view);
	int rc = 0;

	if (found == -EINTR)
		rc = say_interrupted(unpack);
	else if (found < 0)
		rc = say(unpack, path, strerror(-found));
	else if (found == FOUND_OTHER && !unpack->tree.options.foreground)
		rc = say(unpack, path,
			 "it differs from the model's, as a graft does; -f of "
			 "--unpack replaces it");
	else if (found != FOUND_SAME)
		rc = write_file(unpack, directory, path, view);
	else
		unpack->kept++;
	atomic_fetch_add(&unpack->before, view_size(view));
	atomic_store(&unpack->progress.done, 0);
	return rc;
}

static int put(struct unpack *unpack, int directory, const char *path)
{
	struct view *view = offline_tree_view(&unpack->tree, path);
	const int rc = view ? put_view(unpack, directory, path, view) : -1;

	view_unref(view);
	return rc;
}

/* Open a subdirectory, created if it is missing; a link is not followed. Returns a descriptor, or
 * -1 after a line on stderr. */
static int open_class(const struct unpack *unpack, const char *name)
{
	int fd = -1;

	if (mkdirat(unpack->root, name, 0777) == 0 || errno == EEXIST)
		fd = openat(unpack->root, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return say(unpack, name, strerror(errno));
	atomic_write_clean(fd);
	return fd;
}

typedef int unpack_each(struct unpack *unpack, int directory, const char *path);

static int count(struct unpack *unpack, int directory, const char *path)
{
	int rc;
	struct inode *inode = offline_tree_find(&unpack->tree, path, &rc);

	(void)directory;
	if (inode && !S_ISLNK(family_of(inode)->mode))
		atomic_fetch_add(&unpack->total, family_size(inode));
	inodes_put(unpack->tree.fs->inodes, inode);
	unpack->organs++;
	return 0;
}

static bool ends_with(const char *name, const char *ending)
{
	const size_t n = strlen(name), m = strlen(ending);

	return n >= m && strcmp(name + n - m, ending) == 0;
}

/* Call each() for the listed files of a class whose names have that ending. */
static int each_in_class(struct unpack *unpack, const struct inode *class, const char *name,
			 const char *ending, int directory, unpack_each *each)
{
	const struct tree *tree = &unpack->tree.fs->tree;
	char path[2 * NAME_MAX];
	struct listed entry;
	int rc = 0;

	for (uint64_t place = 0; rc == 0 && family_of(class)->list(tree, class, &place, &entry);
	     place++) {
		if (!ends_with(entry.name, ending))
			continue;
		snprintf(path, sizeof(path), "%s/%s", name, entry.name);
		rc = each(unpack, directory, path);
	}
	return rc;
}

/* Call each() for such files in all classes; with directories set, their directories are
 * created. */
static int each_file(struct unpack *unpack, const char *ending, bool directories, unpack_each *each)
{
	int rc = 0;

	for (enum organ_class klass = 0; rc == 0 && klass < CLASSES; klass++) {
		const char *name = class_name(klass);
		struct inode *class = offline_tree_find(&unpack->tree, name, &rc);
		const int directory = class && directories ? open_class(unpack, name) : -1;

		if (!class)
			rc = rc == -ENOENT ? 0 : offline_models_fail(name, rc);
		else if (directories && directory < 0)
			rc = -1;
		else
			rc = each_in_class(unpack, class, name, ending, directory, each);
		if (directory >= 0)
			close(directory);
		inodes_put(unpack->tree.fs->inodes, class);
	}
	return rc;
}

/* Is the directory empty? Returns 1, 0 or -errno. */
static int is_empty(int directory)
{
	const int again = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = again < 0 ? NULL : fdopendir(again);
	const struct dirent *entry;
	int empty = 1;

	if (!entries) {
		const int code = errno;

		if (again >= 0)
			close(again);
		return -code;
	}
	while ((entry = readdir(entries)))
		empty &= strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
	closedir(entries);
	return empty;
}

/* Check that the directory is empty or has the model's header.gguf, so that no files of another
 * directory are replaced. */
static int check_directory(struct unpack *unpack)
{
	struct view *header = offline_tree_view(&unpack->tree, HEADER_FILE);
	const int found = header ? compare(unpack, unpack->root, HEADER_FILE, header) : -1;
	int rc = 0;

	view_unref(header);
	if (!header)
		return -1;
	if (found == FOUND_NONE)
		rc = is_empty(unpack->root);
	if (found < 0 || rc < 0)
		return offline_models_fail(found < 0 ? unpack->tree.options.models[0]
						     : unpack->given,
					   found < 0 ? found : rc);
	if (found == FOUND_SAME || rc > 0)
		return 0;
	return offline_models_report(found == FOUND_NONE
					     ? "%s: not empty, and not an unpacked model; name "
					       "an empty or new directory"
					     : "%s: it holds another model, or this one with other "
					       "keys or tensors; name another directory",
				     unpack->given);
}

static int open_directory(struct unpack *unpack)
{
	if (mkdir(unpack->given, 0777) == 0 || errno == EEXIST)
		unpack->root = open(unpack->given, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (unpack->root < 0)
		return offline_models_fail(unpack->given, -errno);
	atomic_write_clean(unpack->root);
	return check_directory(unpack);
}

static bool look(void *context, uint64_t *done, uint64_t *total)
{
	struct unpack *unpack = context;

	*done = atomic_load(&unpack->before) + atomic_load(&unpack->progress.done);
	*total = atomic_load(&unpack->total);
	if (*done > *total)
		*done = *total;
	return *total != 0;
}

/* Write manifest.json before the cells, because it measures all tensors, several at a time. */
static int put_all(struct unpack *unpack)
{
	int rc = put(unpack, unpack->root, HEADER_FILE);

	if (rc == 0)
		rc = each_file(unpack, ".bin", true, put);
	if (rc == 0)
		rc = put(unpack, unpack->root, "manifest.json");
	if (rc == 0)
		rc = put(unpack, unpack->root, "checksums.xxh128");
	if (rc == 0 && unpack->tree.options.unpack_theta)
		rc = each_file(unpack, ".theta", true, put);
	if (rc == 0 && syncfs(unpack->root) < 0)
		rc = offline_models_fail(unpack->given, -errno);
	return rc;
}

static int unpack_all(struct unpack *unpack)
{
	struct terminal_progress *progress;
	int rc;

	if (!unpack->tree.model->whole || open_directory(unpack) < 0 ||
	    each_file(unpack, ".bin", false, count) < 0)
		return -1;
	progress = terminal_progress_begin(unpack->tree.model->name, NULL, look, unpack,
					   unpack->tree.log);
	rc = put_all(unpack);
	terminal_progress_end(progress);
	if (rc == 0)
		offline_models_report("unpacked: %s: %" PRIu32 " organ%s, %" PRIu64
				      " bytes; %" PRIu32 " file%s there already",
				      unpack->given, unpack->organs, plural(unpack->organs),
				      (uint64_t)atomic_load(&unpack->total), unpack->kept,
				      unpack->kept == 1 ? " was" : "s were");
	return rc;
}

int unpack_command(const struct options *options)
{
	struct unpack unpack = { .given = options->mountpoint, .root = -1 };
	int rc;

	unpack.progress.cancel = &unpack.watch.stopped;
	unpack.chunk = malloc(2 * CHUNK);
	stop_signals_begin(&unpack.watch);
	rc = offline_tree_open(&unpack.tree, options);
	if (rc == 0 && !unpack.chunk)
		rc = offline_models_fail(options_name(options, 0), -ENOMEM);
	if (rc == 0)
		rc = unpack_all(&unpack);
	offline_tree_close(&unpack.tree);
	stop_signals_end(&unpack.watch);
	if (unpack.root >= 0)
		close(unpack.root);
	free(unpack.chunk);
	return rc < 0;
}
