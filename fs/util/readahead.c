/* SPDX-License-Identifier: MIT */
/* readahead.c - see readahead.h. */
#include "fs/util/readahead.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define READAHEAD_KIB 1024

void readahead_raise(dev_t device)
{
	char path[64];
	int fd;

	/* A mount has no device of its own; disks, which have one, are left alone. */
	if (major(device) != 0)
		return;
	snprintf(path, sizeof(path), "/sys/class/bdi/%u:%u/read_ahead_kb", major(device),
		 minor(device));
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		dprintf(fd, "%d\n", READAHEAD_KIB);
		close(fd);
	}
}
