/* SPDX-License-Identifier: MIT */
/* io.c - see io.h. */
#include "fs/util/io.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

ssize_t io_read_with(int fd, int flags, void *bytes, size_t n, uint64_t offset)
{
	size_t done = 0;

	while (done < n) {
		const struct iovec rest = { (char *)bytes + done, n - done };
		const off_t at = (off_t)(offset + done);
		const ssize_t got = flags ? preadv2(fd, &rest, 1, at, flags)
					  : pread(fd, rest.iov_base, rest.iov_len, at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

ssize_t io_read(int fd, void *bytes, size_t n, uint64_t offset)
{
	return io_read_with(fd, 0, bytes, n, offset);
}

int io_write(int fd, const void *bytes, size_t n, uint64_t offset)
{
	size_t done = 0;

	while (done < n) {
		const ssize_t wrote =
			pwrite(fd, (const char *)bytes + done, n - done, (off_t)(offset + done));

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			return wrote < 0 ? -errno : -EIO;
		done += (size_t)wrote;
	}
	return 0;
}

char *io_read_all(int fd, size_t *size)
{
	char *text = NULL, *more;
	size_t room = 0;
	ssize_t n;

	*size = 0;
	do {
		if (room - *size < 2) {
			room = room ? room * 2 : 65536;
			more = realloc(text, room);
			if (!more) {
				free(text);
				errno = ENOMEM;
				return NULL;
			}
			text = more;
		}
		n = read(fd, text + *size, room - *size - 1);
		*size += n > 0 ? (size_t)n : 0;
	} while (n > 0 || (n < 0 && errno == EINTR));
	if (n < 0) {
		free(text);
		return NULL;
	}
	text[*size] = '\0';
	return text;
}
