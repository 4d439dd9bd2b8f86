/* SPDX-License-Identifier: MIT */
/* readahead.h - the kernel's read-ahead for sequential reads of the mount. Its default, 128 KiB,
 * costs a third of the speed. Only root may raise it; the mount works without. */
#ifndef FS_MOUNT_READAHEAD_H
#define FS_MOUNT_READAHEAD_H

#include <stdbool.h>
#include <sys/types.h>

#define READAHEAD_KIB 1024

/* Open the device's read_ahead_kb file. Returns a descriptor, which the caller owns, or -1 if the
 * file cannot be written. */
int readahead_open(dev_t device);

/* Write READAHEAD_KIB and close the descriptor. Returns whether the kernel took the figure; false
 * if fd is -1 or the mount is gone. */
bool readahead_set(int fd);

#endif
