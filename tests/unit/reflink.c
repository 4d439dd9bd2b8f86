/* SPDX-License-Identifier: MIT */
/* reflink.c - see reflink.h. */
#include "tests/unit/reflink.h"

#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>

struct filesystem filesystem;
static bool is_begun;

int __real_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, ...);
ssize_t __real_copy_file_range(int from, off_t *at, int to, off_t *to_at, size_t n, unsigned flags);
ssize_t __wrap_copy_file_range(int from, off_t *at, int to, off_t *to_at, size_t n, unsigned flags);
int __real_fallocate64(int fd, int mode, off_t at, off_t n);
int __wrap_fallocate64(int fd, int mode, off_t at, off_t n);
int __real_fstatfs64(int fd, struct statfs *stat);
int __wrap_fstatfs64(int fd, struct statfs *stat);
int __real_sync_file_range(int fd, off_t at, off_t n, unsigned flags);
int __wrap_sync_file_range(int fd, off_t at, off_t n, unsigned flags);

void filesystem_begin(void)
{
	filesystem = (struct filesystem){ 0 };
	is_begun = true;
}

static int fail_with(int code)
{
	errno = code;
	return -1;
}

static int copy_range(int from, uint64_t at, int to, uint64_t to_at, uint64_t n)
{
	char bytes[BLOCK];

	for (uint64_t done = 0; done < n;) {
		const size_t part = n - done < BLOCK ? (size_t)(n - done) : BLOCK;

		must(pread(from, bytes, part, (off_t)(at + done)) == (ssize_t)part);
		must(pwrite(to, bytes, part, (off_t)(to_at + done)) == (ssize_t)part);
		done += part;
	}
	filesystem.shared += n;
	return 0;
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	struct file_clone_range *range = NULL;
	struct stat stat;
	va_list arguments;
	int whole = 0;

	va_start(arguments, request);
	if (request == FICLONE)
		whole = va_arg(arguments, int);
	else
		range = va_arg(arguments, struct file_clone_range *);
	va_end(arguments);
	if (!is_begun)
		return range ? __real_ioctl(fd, request, range) : __real_ioctl(fd, request, whole);
	if (filesystem.share_error)
		return fail_with(filesystem.share_error);
	must(fstat(request == FICLONE ? whole : (int)range->src_fd, &stat) == 0);
	if (request == FICLONE) {
		must(ftruncate(fd, stat.st_size) == 0);
		return copy_range(whole, 0, fd, 0, (uint64_t)stat.st_size);
	}
	if (range->src_offset % BLOCK || range->dest_offset % BLOCK || range->src_length % BLOCK ||
	    range->src_length == 0 ||
	    range->src_offset + range->src_length > (uint64_t)stat.st_size)
		return fail_with(EINVAL);
	return copy_range((int)range->src_fd, range->src_offset, fd, range->dest_offset,
			  range->src_length);
}

ssize_t __wrap_copy_file_range(int from, off_t *at, int to, off_t *to_at, size_t n, unsigned flags)
{
	if (filesystem.before_copy)
		filesystem.before_copy();
	if (filesystem.copies++ >= filesystem.copy_good && filesystem.copy_error)
		return fail_with(filesystem.copy_error);
	if (filesystem.copy_most && n > filesystem.copy_most)
		n = filesystem.copy_most;
	return __real_copy_file_range(from, at, to, to_at, n, flags);
}

int __wrap_fallocate64(int fd, int mode, off_t at, off_t n)
{
	if (filesystem.reserve_error)
		return fail_with(filesystem.reserve_error);
	return __real_fallocate64(fd, mode, at, n);
}

int __wrap_fstatfs64(int fd, struct statfs *stat)
{
	if (!is_begun)
		return __real_fstatfs64(fd, stat);
	*stat = (struct statfs){ .f_type = filesystem.is_near ? XFS_SUPER_MAGIC : NFS_SUPER_MAGIC };
	return 0;
}

int __wrap_sync_file_range(int fd, off_t at, off_t n, unsigned flags)
{
	if (filesystem.write_back_error)
		return fail_with(filesystem.write_back_error);
	return __real_sync_file_range(fd, at, n, flags);
}
