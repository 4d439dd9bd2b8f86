/* SPDX-License-Identifier: MIT */
/* file_use.c - see file_use.h. */
#include "fs/storage/file_use.h"
#include "fs/util/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>

/* the byte locked for FILE_USE_BASE; the next use locks the byte before. No file reaches there. */
#define FIRST_BYTE (INT64_MAX - 1)

static struct flock lock_of(enum file_use use, short type)
{
	return (struct flock){ .l_type = type,
			       .l_whence = SEEK_SET,
			       .l_start = FIRST_BYTE - (use == FILE_USE_DONOR),
			       .l_len = 1 };
}

void file_use_announce(int fd, enum file_use use)
{
	struct flock lock = lock_of(use, F_RDLCK);

	if (use && disk_place(fd) != DISK_ELSEWHERE)
		fcntl(fd, F_OFD_SETLK, &lock);
}

int file_use_is_announced(int fd, unsigned uses)
{
	for (unsigned use = FILE_USE_BASE; use <= FILE_USE_DONOR; use <<= 1) {
		struct flock lock = lock_of(use, F_WRLCK);

		if (!(uses & use))
			continue;
		if (fcntl(fd, F_OFD_GETLK, &lock) < 0)
			return -errno;
		if (lock.l_type != F_UNLCK)
			return 1;
	}
	return 0;
}
