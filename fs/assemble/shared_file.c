/* SPDX-License-Identifier: MIT */
/* shared_file.c - see shared_file.h. */
#include "fs/assemble/shared_file.h"
#include "fs/assemble/copy_range.h"
#include "fs/assemble/view_writer.h"
#include "fs/storage/backing.h"
#include "fs/storage/view.h"
#include "fs/util/progress.h"
#include "gguf/error.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* Most bytes that are written at an open(), to keep the delay short. */
#define WRITTEN_MOST ((uint64_t)128 << 20)

/* Divisor: the file may take this part of the free space. */
#define FREE_PART_MOST 4

/* Number of bytes of the view that cannot be shared with files of that device, and the largest
 * piece that can, in *largest. UINT64_MAX: a file has changed. */
static uint64_t bytes_to_write(const struct view *view, const struct stat *target, uint64_t block,
			       struct extent *largest)
{
	struct backing *last = NULL;
	struct extent extent;
	uint64_t written = 0;

	*largest = (struct extent){ 0 };
	for (uint64_t at = 0; view_extent(view, at, &extent); at += extent.length) {
		if (extent.backing && extent.backing != last && backing_check(extent.backing) < 0)
			return UINT64_MAX;
		last = extent.backing;
		if (!extent.backing || backing_stat(last)->st_dev != target->st_dev ||
		    !copy_range_can_clone(block, extent.offset, extent.length, at))
			written += extent.length;
		else if (extent.length > largest->length)
			*largest = extent;
	}
	return written;
}

/* Whether the filesystem lets the file share a block of that piece; the file is emptied again. */
static bool can_share(int fd, const struct extent *extent, uint64_t block)
{
	struct file_clone_range range = {
		.src_offset = extent->offset + (block - extent->offset % block) % block,
		.src_length = block,
	};
	bool can;

	range.src_fd = backing_fd_get(extent->backing);
	if (range.src_fd < 0)
		return false;
	can = ioctl(fd, FICLONERANGE, &range) == 0 && ftruncate(fd, 0) == 0;
	backing_fd_put(extent->backing);
	return can;
}

static bool is_cheap(int fd, const struct view *view)
{
	struct statvfs disk;
	struct extent largest;
	struct stat stat;
	uint64_t written;

	if (fstat(fd, &stat) < 0 || fstatvfs(fd, &disk) < 0 || disk.f_frsize == 0)
		return false;
	written = bytes_to_write(view, &stat, disk.f_frsize, &largest);
	return written <= WRITTEN_MOST && written < view_size(view) / 2 &&
	       written < (uint64_t)disk.f_bavail * disk.f_frsize / FREE_PART_MOST &&
	       largest.backing && can_share(fd, &largest, disk.f_frsize);
}

int shared_file_new(struct view *view, const char *directory)
{
	int fd;

	if (view_size(view) > SIZE_MAX || view_is_slow(view, (size_t)view_size(view), 0))
		return -ENOTSUP;
	fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	if (is_cheap(fd, view))
		return fd;
	close(fd);
	return -ENOTSUP;
}

int shared_file_fill(int fd, struct view *view, const atomic_bool *stop, const atomic_bool *ending)
{
	struct progress progress = { .cancel = stop, .ending = ending };
	struct error err = { 0 };

	progress_begin(&progress, view_size(view));
	return view_write(fd, view, &progress, &err);
}
