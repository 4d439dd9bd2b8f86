/* SPDX-License-Identifier: MIT */
/* syscall_filter.h - the system calls that are left to a process that reads files of strangers
 * (seccomp(2)): those on files, memory, threads and time, and none by which a process starts
 * programs, looks into others, mounts, or opens sockets. */
#ifndef FS_UTIL_SYSCALL_FILTER_H
#define FS_UTIL_SYSCALL_FILTER_H

#include <stdbool.h>

/* Let all threads of this process make no other calls, for good, and gain no privileges by
 * execve(). With network also those that a client of an HTTP server makes. A call that is not left
 * fails with EPERM, and the kernel writes a line of it to its log: type=1326, with the number of
 * the call. A call that is newer than libseccomp fails with ENOSYS, silently, as the C library
 * tries those first. A program with a sanitizer, which makes calls of its own, gets no filter.
 * Returns 0, or -errno: there is no filter in force, or not all of it. */
int syscall_filter_enter(bool network);

/* Can no connection be made any more, as after syscall_filter_enter() without network? It tries to
 * make a socket, of which the kernel's log then has its line. */
bool syscall_filter_ends_network(void);

/* Does syscall_filter_enter() do anything in this build? */
bool syscall_filter_is_built(void);

#endif
