/* SPDX-License-Identifier: MIT */
/* process.h - what threads of other programs belong to, and what they are about to do. */
#ifndef FS_UTIL_PROCESS_H
#define FS_UTIL_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

/* The process of a thread; 0: it cannot be known, as of numbers below 1, which are threads that
 * this process cannot see. */
pid_t process_of(pid_t thread);

/* Is there a signal for the thread that ends it or calls a handler? Not where it is only to stop
 * (Ctrl-Z, SIGSTOP), is frozen, or a debugger came, nor one that a process without a handler
 * ignores: that a child of a shell has ended is no reason to end what the shell does. True also
 * where that cannot be known. */
bool process_is_signalled(pid_t thread);

#endif
