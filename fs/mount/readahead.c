/* SPDX-License-Identifier: MIT */
/* readahead.c - see readahead.h. */
#include "fs/mount/readahead.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/sysmacros.h>
#include <unistd.h>

int readahead_open(dev_t device)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/class/bdi/%u:%u/read_ahead_kb", major(device),
		 minor(device));
	return open(path, O_WRONLY | O_CLOEXEC);
}

/* dprintf() of glibc 2.36 would lose its buffer if the file offset cannot be read, as happens for
 * the file of a mount that is gone. */
bool readahead_set(int fd)
{
	char figure[16];
	const int n = snprintf(figure, sizeof(figure), "%d\n", READAHEAD_KIB);
	bool is_set;

	if (fd < 0)
		return false;
	is_set = write(fd, figure, (size_t)n) == n;
	close(fd);
	return is_set;
}
