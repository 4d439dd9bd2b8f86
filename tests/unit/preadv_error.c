/* SPDX-License-Identifier: MIT */
/* preadv_error.c - see preadv_error.h. */
#include "tests/unit/preadv_error.h"

#include <errno.h>
#include <sys/uio.h>

ssize_t __real_preadv64v2(int fd, const struct iovec *parts, int n, off_t offset, int flags);
ssize_t __wrap_preadv64v2(int fd, const struct iovec *parts, int n, off_t offset, int flags);

int preadv_error;
off_t preadv_absent;

ssize_t __wrap_preadv64v2(int fd, const struct iovec *parts, int n, off_t offset, int flags)
{
	struct iovec present;

	errno = preadv_error;
	if (preadv_error)
		return -1;
	if (!preadv_absent || !(flags & RWF_NOWAIT) || n != 1)
		return __real_preadv64v2(fd, parts, n, offset, flags);
	errno = EAGAIN;
	if (offset >= preadv_absent)
		return -1;
	present = parts[0];
	if (present.iov_len > (size_t)(preadv_absent - offset))
		present.iov_len = (size_t)(preadv_absent - offset);
	return __real_preadv64v2(fd, &present, 1, offset, flags);
}
