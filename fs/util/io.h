/* SPDX-License-Identifier: MIT */
/* io.h - whole reads and writes: what the system calls do in parts, or not at all for a signal. */
#ifndef FS_UTIL_IO_H
#define FS_UTIL_IO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Up to n bytes at offset; fewer only at the file's end. Returns their number or -errno. */
ssize_t io_read(int fd, void *bytes, size_t n, uint64_t offset);

/* The same with flags of preadv2(2). -EOPNOTSUPP, or -EINVAL of an older kernel: it cannot do it
 * so. */
ssize_t io_read_with(int fd, int flags, void *bytes, size_t n, uint64_t offset);

/* All n bytes at offset. Returns 0 or -errno. */
int io_write(int fd, const void *bytes, size_t n, uint64_t offset);

/* All that comes from a descriptor, which may be a pipe's, with a NUL after it, to free. NULL with
 * errno set. */
char *io_read_all(int fd, size_t *size);

#endif
