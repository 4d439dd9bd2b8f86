/* SPDX-License-Identifier: MIT */
/* path_resolve.h - resolve a path with the rights of the calling thread, and without any request to
 * our own mount: the daemon could wait for itself for ever. */
#ifndef FS_PATHS_PATH_RESOLVE_H
#define FS_PATHS_PATH_RESOLVE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct error;

/* Our own mount, which is never asked. */
struct path_resolve_mount {
	const char *point; /* absolute; NULL: no mount */
	dev_t device;
};

/* Result of a resolution. */
struct path_resolve_result {
	bool own; /* path is in our mount: the part below its root, "" for the root */
	int fd;	  /* else: a regular file open for reading; path is as given */
	char path[PATH_MAX];
	unsigned links; /* symbolic links followed so far, including earlier calls */
};

/* Limit of followed symbolic links, that of the kernel. */
#define PATH_RESOLVE_LINKS_MAX 40

/* Follow path to a file; a relative path starts in the directory inside of our mount ("organs").
 * The caller sets resolved->links. May wait for other filesystems. Returns 0, or -errno with err
 * set: ENOENT, EACCES, ELOOP and others of open(2), EINVAL for other than a regular file. */
int path_resolve(const struct path_resolve_mount *own, const char *inside, const char *path,
		 struct path_resolve_result *resolved, struct error *err);

#endif
