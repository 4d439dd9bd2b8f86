/* SPDX-License-Identifier: MIT */
/* shared_file.c - see shared_file.h. */
#include "fs/assemble/shared_file.h"
#include "fs/assemble/copy_range.h"
#include "fs/assemble/view_writer.h"
#include "fs/util/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* What may be written without the reader noticing much: a second of a slow disk. Of a large view, a
 * part of it that is small beside reading it. */
#define WRITTEN_MOST	  ((uint64_t)256 << 20)
#define WRITTEN_PART_MOST 16

/* The file may take so much of what the disk has left. */
#define FREE_PART_MOST 4

static int new_file(const char *directory)
{
	return open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

/* The bytes of the view that cannot be shared with files of that device, and, as *largest, the file
 * of the largest piece that can. As copy_range_clone() shares: whole blocks that lie alike. */
static uint64_t bytes_to_write(const struct view *view, dev_t device, uint64_t block,
			       struct extent *largest)
{
	uint64_t written = 0;
	struct extent extent;

	*largest = (struct extent){ 0 };
	for (uint64_t at = 0; view_extent(view, at, &extent); at += extent.length) {
		const bool shared = extent.backing && extent.length >= block &&
				    extent.offset % block == at % block &&
				    backing_stat(extent.backing)->st_dev == device;

		if (!shared)
			written += extent.length;
		else if (extent.length > largest->length)
			*largest = extent;
	}
	return written;
}

/* Does the filesystem let the file share a block with that one? */
static bool can_share(int fd, const struct extent *extent, uint64_t block)
{
	const uint64_t skip = (block - extent->offset % block) % block;
	struct file_clone_range range = { .src_length = block };
	bool can = false;

	if (extent->length < skip + block)
		return false;
	range.src_fd = backing_fd_get(extent->backing);
	if (range.src_fd < 0)
		return false;
	range.src_offset = extent->offset + skip;
	can = ioctl(fd, FICLONERANGE, &range) == 0;
	backing_fd_put(extent->backing);
	return can;
}

static bool is_little(uint64_t written, uint64_t size, const struct statvfs *disk)
{
	const uint64_t room = (uint64_t)disk->f_bavail * disk->f_frsize;

	return (written <= WRITTEN_MOST || written <= size / WRITTEN_PART_MOST) &&
	       written < size / 2 && written < room / FREE_PART_MOST;
}

bool shared_file_is_cheap(struct view *view, const char *directory)
{
	struct statvfs disk;
	struct extent largest;
	struct stat stat;
	uint64_t written;
	bool cheap = false;
	int fd;

	if (view_is_computed(view))
		return false;
	fd = new_file(directory);
	if (fd < 0)
		return false;
	if (fstat(fd, &stat) == 0 && fstatvfs(fd, &disk) == 0 && disk.f_frsize > 0) {
		written = bytes_to_write(view, stat.st_dev, disk.f_frsize, &largest);
		cheap = largest.backing && is_little(written, view_size(view), &disk) &&
			can_share(fd, &largest, disk.f_frsize);
	}
	close(fd);
	return cheap;
}

/* The kernel is given a file that cannot be written to through it. */
static int reopened_to_read(int fd)
{
	char path[64];
	const int n = snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	const int again = n > 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;

	return again < 0 ? -errno : again;
}

int shared_file_new(struct view *view, const char *directory, const atomic_bool *stop)
{
	struct progress progress = { .cancel = stop };
	struct error err = { 0 };
	const int fd = new_file(directory);
	int rc;

	if (fd < 0)
		return -errno;
	progress_begin(&progress, view_size(view));
	rc = view_write(fd, view, &progress, &err);
	if (rc == 0)
		rc = reopened_to_read(fd);
	close(fd);
	return rc;
}
