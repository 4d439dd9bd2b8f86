/* SPDX-License-Identifier: MIT */
/* preadv_error.c - see preadv_error.h. */
#include "tests/unit/preadv_error.h"

#include <errno.h>
#include <sys/uio.h>

ssize_t __real_preadv64v2(int fd, const struct iovec *parts, int n, off_t offset, int flags);
ssize_t __wrap_preadv64v2(int fd, const struct iovec *parts, int n, off_t offset, int flags);

int preadv_error;

ssize_t __wrap_preadv64v2(int fd, const struct iovec *parts, int n, off_t offset, int flags)
{
	errno = preadv_error;
	return preadv_error ? -1 : __real_preadv64v2(fd, parts, n, offset, flags);
}
