/* SPDX-License-Identifier: MIT */
/* path_resolve.h - where a path leads, with the rights of the calling thread, and without asking
 * our own mount anything: a request to it from the daemon could wait for the daemon for ever. */
#ifndef FS_PATHS_PATH_RESOLVE_H
#define FS_PATHS_PATH_RESOLVE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct error;

/* The mount that is never asked. */
struct path_resolve_mount {
	const char *point; /* absolute; NULL: there is none */
	dev_t device;
};

/* Where a path led. */
struct path_resolve_result {
	bool own; /* into our mount: path is what comes after its root, "" for that */
	int fd;	  /* else of a regular file, open for reading; path is how it was given */
	char path[PATH_MAX];
	unsigned links; /* symbolic links that were followed so far, also by earlier calls */
};

/* So many symbolic links are followed, as the kernel does. */
#define PATH_RESOLVE_LINKS_MAX 40

/* Follow path, which if it is relative starts in the directory inside of our mount, "organs", to a
 * file. resolved->links is set by the caller. It may wait for other filesystems. Returns 0, or
 * -errno with err set: ENOENT, EACCES, ELOOP and what else open(2) says, EINVAL no regular file. */
int path_resolve(const struct path_resolve_mount *own, const char *inside, const char *path,
		 struct path_resolve_result *resolved, struct error *err);

#endif
