/* SPDX-License-Identifier: MIT */
/* process.h - the process of a thread of another program, and its pending signals. */
#ifndef FS_UTIL_PROCESS_H
#define FS_UTIL_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

/* The process ID of a thread; 0: unknown. Numbers below 1, by which FUSE reports threads of other
 * PID namespaces, are unknown. */
pid_t process_of(pid_t thread);

/* Does the thread have a pending signal that ends it or calls a handler? Stops (Ctrl-Z, SIGSTOP),
 * the freezer and debuggers do not count, nor do signals that a process without a handler ignores:
 * SIGCHLD of a shell's child, for example, does not interrupt the shell. True if the state is
 * unknown. */
bool process_is_signalled(pid_t thread);

#endif
