/* SPDX-License-Identifier: MIT */
/* readahead.h - how much the kernel asks for at once where a process reads on. Its own figure,
 * 128 KiB, costs a third of the speed. Only root may say more, and a mount is well without. */
#ifndef FS_MOUNT_READAHEAD_H
#define FS_MOUNT_READAHEAD_H

#include <stdbool.h>
#include <sys/types.h>

#define READAHEAD_KIB 1024

/* Opens the file of the device's figure. Returns its descriptor, which is the caller's, or -1: it
 * cannot be written. */
int readahead_open(dev_t device);

/* Writes READAHEAD_KIB and closes the descriptor. Returns whether the kernel took it: not with -1,
 * nor where the mount is gone. */
bool readahead_set(int fd);

#endif
