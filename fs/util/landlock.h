/* SPDX-License-Identifier: MIT */
/* landlock.h - files that a process can reach no more (landlock(7)), whatever its user may. A
 * ruleset names the directories and files that are left. What is open already stays open. */
#ifndef FS_UTIL_LANDLOCK_H
#define FS_UTIL_LANDLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct landlock {
	int fd; /* of the ruleset; -1: there is none */
	uint64_t handled;
};

/* The version of Landlock that the kernel has, 0: none. Files are moved between directories since
 * version 2 (Linux 5.19). */
int landlock_version(void);

/* Nothing can be written or made any more, nor, with reads, read or executed, but for what
 * landlock_allow() adds. Returns 0, or -errno: the kernel has no Landlock, or has it off. Release
 * with landlock_release() either way. */
int landlock_init(struct landlock *landlock, bool reads);

/* What lies at path, and below it, can be read, and with write be written, made and removed. Links
 * are followed. Returns 0 or -errno, ENOENT too. */
int landlock_allow(struct landlock *landlock, const char *path, bool write);

/* Put it in force for this thread, and those that it starts, for good. They gain no privileges by
 * execve() afterwards, do not mount or unmount, and look into no process that is not under the same
 * rules, in /proc either. Returns 0 or -errno. */
int landlock_enter(const struct landlock *landlock);

void landlock_release(struct landlock *landlock);

#endif
