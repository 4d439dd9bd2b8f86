/* SPDX-License-Identifier: MIT */
/* process.c - see process.h. /proc/N is there for every thread, /proc/N/task has those of its
 * process. */
#include "fs/util/process.h"

#include <stdio.h>
#include <sys/stat.h>

/* thread 0: the process itself. */
static bool is_there(pid_t process, pid_t thread)
{
	char path[64];
	struct stat stat;

	if (thread)
		snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)process, (int)thread);
	else
		snprintf(path, sizeof(path), "/proc/%d", (int)process);
	return lstat(path, &stat) == 0;
}

bool process_is_another(pid_t thread, pid_t other)
{
	if (thread < 1 || other < 1 || thread == other)
		return false;
	return is_there(thread, 0) && is_there(other, 0) && !is_there(other, thread);
}
