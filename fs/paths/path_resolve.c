/* SPDX-License-Identifier: MIT */
/* path_resolve.c - see path_resolve.h. The path is walked name by name, as in the kernel. Outside
 * of our mount the current place is a descriptor opened with O_PATH, which asks the filesystem for
 * the name alone; inside our mount it is a text. */
#include "fs/paths/path_resolve.h"
#include "gguf/error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Inode number of the root of each organfs mount. */
#define ROOT_NUMBER 1

struct walk {
	const struct path_resolve_mount *own;
	struct error *err;
	bool inside;
	int at;		       /* outside: the current place */
	char within[PATH_MAX]; /* inside: the current place, below the root */
	char left[PATH_MAX];   /* names still to be walked */
	mode_t type;	       /* outside: file type of the place */
	unsigned links;
};

static int fail(struct walk *walk, int code)
{
	return error_errno(walk->err, code);
}

static void move_to(struct walk *walk, int fd)
{
	if (walk->at >= 0)
		close(walk->at);
	walk->at = fd;
}

static int go_outside(struct walk *walk, const char *path)
{
	const int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return fail(walk, errno);
	walk->inside = false;
	walk->type = S_IFDIR;
	move_to(walk, fd);
	return 0;
}

/* Cut off the last name. */
static void cut_last(char *path)
{
	char *slash = strrchr(path, '/');

	*(slash ? slash : path) = '\0';
}

/* Walk one name inside our mount. ".." of the root is the directory that holds the mountpoint. */
static int step_inside(struct walk *walk, const char *name)
{
	char parent[PATH_MAX];
	const size_t n = strlen(walk->within);

	if (strcmp(name, "..") != 0) {
		if (n + 1 + strlen(name) >= sizeof(walk->within))
			return fail(walk, ENAMETOOLONG);
		snprintf(walk->within + n, sizeof(walk->within) - n, "%s%s", n ? "/" : "", name);
		return 0;
	}
	if (n) {
		cut_last(walk->within);
		return 0;
	}
	snprintf(parent, sizeof(parent), "%s", walk->own->point ? walk->own->point : "/");
	cut_last(parent);
	return go_outside(walk, parent[0] ? parent : "/");
}

/* Put a link's target before the names still to be walked. */
static int follow_link(struct walk *walk, int link)
{
	char target[PATH_MAX], left[PATH_MAX];
	struct statfs filesystem;
	ssize_t n;

	/* Links in /proc belong to the daemon or a process; they are no paths of the user's. */
	if (fstatfs(link, &filesystem) == 0 && filesystem.f_type == PROC_SUPER_MAGIC)
		return error_set(walk->err, ELOOP, ERROR_NO_OFFSET,
				 "links in /proc are not followed");
	n = readlinkat(link, "", target, sizeof(target) - 1);
	if (n < 0)
		return fail(walk, errno);
	target[n] = '\0';
	if (++walk->links > PATH_RESOLVE_LINKS_MAX)
		return fail(walk, ELOOP);
	if (n == 0)
		return fail(walk, ENOENT);
	memcpy(left, walk->left, sizeof(left));
	if (snprintf(walk->left, sizeof(walk->left), "%s/%s", target, left) >=
	    (int)sizeof(walk->left))
		return fail(walk, ENAMETOOLONG);
	return target[0] == '/' ? go_outside(walk, "/") : 0;
}

/* Move on to the file open at fd, which is consumed. */
static int arrive(struct walk *walk, int fd)
{
	struct statx status;
	int rc;

	/* Without DONT_SYNC the daemon could send a request to itself. */
	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT,
		  STATX_TYPE | STATX_INO, &status) < 0) {
		rc = fail(walk, errno);
		close(fd);
		return rc;
	}
	if (walk->own->point &&
	    makedev(status.stx_dev_major, status.stx_dev_minor) == walk->own->device) {
		close(fd);
		move_to(walk, -1);
		walk->inside = true;
		walk->within[0] = '\0';
		if (status.stx_ino == ROOT_NUMBER)
			return 0;
		return error_set(walk->err, EXDEV, ERROR_NO_OFFSET,
				 "it leads into this mount by another way than its mountpoint");
	}
	if (S_ISLNK(status.stx_mode)) {
		rc = follow_link(walk, fd);
		close(fd);
		return rc;
	}
	walk->type = status.stx_mode & S_IFMT;
	move_to(walk, fd);
	return 0;
}

static int step_outside(struct walk *walk, const char *name)
{
	int fd;

	if (walk->type != S_IFDIR)
		return fail(walk, ENOTDIR);
	fd = openat(walk->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? fail(walk, errno) : arrive(walk, fd);
}

/* Take the next name off the path. Returns 1, 0 at the end, or -errno. */
static int next_name(struct walk *walk, char name[NAME_MAX + 1])
{
	const char *start = walk->left + strspn(walk->left, "/");
	const size_t n = strcspn(start, "/");

	if (n > NAME_MAX)
		return fail(walk, ENAMETOOLONG);
	memcpy(name, start, n);
	name[n] = '\0';
	memmove(walk->left, start + n, strlen(start + n) + 1);
	return n != 0;
}

static int walk_on(struct walk *walk)
{
	char name[NAME_MAX + 1];
	int rc;

	while ((rc = next_name(walk, name)) > 0) {
		if (strcmp(name, ".") == 0)
			continue;
		rc = walk->inside ? step_inside(walk, name) : step_outside(walk, name);
		if (rc < 0)
			break;
	}
	return rc;
}

/* Open the file at the place; only this asks the filesystem for more. */
static int open_file(struct walk *walk)
{
	char path[48];
	int fd;

	if (walk->type != S_IFREG)
		return error_set(walk->err, EINVAL, ERROR_NO_OFFSET, "not a regular file");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", walk->at);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? fail(walk, errno) : fd;
}

int path_resolve(const struct path_resolve_mount *own, const char *inside, const char *path,
		 struct path_resolve_result *resolved, struct error *err)
{
	struct walk walk = {
		.own = own, .err = err, .inside = true, .at = -1, .links = resolved->links
	};
	int rc = 0;

	resolved->own = false;
	resolved->fd = -1;
	if (snprintf(walk.left, sizeof(walk.left), "%s", path) >= (int)sizeof(walk.left))
		return fail(&walk, ENAMETOOLONG);
	snprintf(walk.within, sizeof(walk.within), "%s", inside);
	if (path[0] == '/')
		rc = go_outside(&walk, "/");
	if (rc == 0)
		rc = walk_on(&walk);
	if (rc == 0 && !walk.inside)
		resolved->fd = rc = open_file(&walk);
	move_to(&walk, -1);
	resolved->own = walk.inside;
	resolved->links = walk.links;
	snprintf(resolved->path, sizeof(resolved->path), "%s", walk.inside ? walk.within : path);
	return rc < 0 ? rc : 0;
}
