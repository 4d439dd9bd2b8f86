/* SPDX-License-Identifier: MIT */
/* landlock.h - file access limited to a list of directories and files (landlock(7)), independent of
 * the user's rights. Descriptors that are open already are not limited. */
#ifndef FS_UTIL_LANDLOCK_H
#define FS_UTIL_LANDLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct landlock {
	int fd; /* the ruleset; -1: none */
	uint64_t handled;
};

/* The kernel's version of Landlock (its ABI); 0: none. Since version 2 (Linux 5.19) files can be
 * moved between directories. */
int landlock_version(void);

/* Begin a ruleset that denies all writing and creation of files, and with reads also reading and
 * execution. landlock_allow() adds exceptions. Returns 0, or -errno if the kernel has no Landlock
 * or it is disabled. Call landlock_release() in both cases. */
int landlock_init(struct landlock *landlock, bool reads);

/* Allow reading of the file path, or of all files below the directory path; with write also
 * writing, creation and removal. Symbolic links are followed. Returns 0 or -errno, -ENOENT
 * included. */
int landlock_allow(struct landlock *landlock, const char *path, bool write);

/* Put the ruleset in force for this thread and the threads it starts, for good. They then gain no
 * privileges by execve(), cannot mount or unmount, and can inspect only processes under the same
 * ruleset, through /proc too. Returns 0 or -errno. */
int landlock_enter(const struct landlock *landlock);

void landlock_release(struct landlock *landlock);

#endif
