/* SPDX-License-Identifier: MIT */
/* io.h - complete reads and writes: short counts are continued, and EINTR is retried. */
#ifndef FS_UTIL_IO_H
#define FS_UTIL_IO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Read up to n bytes at offset; fewer only at the file's end. Returns the number or -errno. */
ssize_t io_read(int fd, void *bytes, size_t n, uint64_t offset);

/* io_read() with flags of preadv2(2). Returns -EOPNOTSUPP, or -EINVAL on older kernels, if the
 * flags are not supported. */
ssize_t io_read_with(int fd, int flags, void *bytes, size_t n, uint64_t offset);

/* Write all n bytes at offset. Returns 0 or -errno. */
int io_write(int fd, const void *bytes, size_t n, uint64_t offset);

/* Read a descriptor, which may be a pipe, to its end. Returns the bytes with a NUL after them, to
 * free; NULL with errno set. */
char *io_read_all(int fd, size_t *size);

#endif
