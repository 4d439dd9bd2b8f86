/* SPDX-License-Identifier: MIT */
/* syscall_filter.h - a seccomp(2) filter for a process that reads files of strangers. It allows
 * system calls on files, memory, threads and time, and denies those that start programs, inspect
 * other processes, mount, or open sockets. */
#ifndef FS_UTIL_SYSCALL_FILTER_H
#define FS_UTIL_SYSCALL_FILTER_H

#include <stdbool.h>

/* Install the filter in all threads of this process, for good; they gain no privileges by execve().
 * With network, an HTTP client's calls are allowed as well. A denied call fails with EPERM, and the
 * kernel logs it: type=1326, with the number of the call. A call that is newer than libseccomp
 * fails with ENOSYS and is not logged, because the C library tries new calls first. A build with a
 * sanitizer, which makes calls of its own, installs no filter. Returns 0, or -errno: the filter is
 * not in force, or only a part of it. */
int syscall_filter_enter(bool network);

/* Are new connections impossible, as after syscall_filter_enter(false)? The function tries to open
 * a socket, which the kernel logs if the filter denies it. */
bool syscall_filter_ends_network(void);

/* Does this build have a filter? False with a sanitizer. */
bool syscall_filter_is_built(void);

#endif
