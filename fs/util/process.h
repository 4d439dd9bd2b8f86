/* SPDX-License-Identifier: MIT */
/* process.h - what threads of other programs belong to. */
#ifndef FS_UTIL_PROCESS_H
#define FS_UTIL_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

/* Is the thread alive, in another process than the other one? False also where that cannot be
 * known: numbers below 1 are threads that this process cannot see. */
bool process_is_another(pid_t thread, pid_t other);

#endif
