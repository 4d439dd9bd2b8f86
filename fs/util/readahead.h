/* SPDX-License-Identifier: MIT */
/* readahead.h - how much the kernel asks a mount for at once. */
#ifndef FS_UTIL_READAHEAD_H
#define FS_UTIL_READAHEAD_H

#include <sys/types.h>

/* The kernel asks for 1 MiB at once where a process reads on; its own figure, 128 KiB, costs a
 * third of the speed. device is st_dev of a FUSE mount. The answer to the kernel's first request
 * can but lower the figure, and lowers it again, so this comes after it. Only root may say more,
 * and the mount is well without. */
void readahead_raise(dev_t device);

#endif
