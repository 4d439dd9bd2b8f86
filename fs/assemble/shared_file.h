/* SPDX-License-Identifier: MIT */
/* shared_file.h - a view as an unlinked file that shares its blocks with the files under the view,
 * where the filesystem can do that (XFS, btrfs): it costs the bytes that lie nowhere as they are,
 * and some milliseconds. */
#ifndef FS_ASSEMBLE_SHARED_FILE_H
#define FS_ASSEMBLE_SHARED_FILE_H

#include <stdatomic.h>

struct view;

/* An empty file for the view in that directory, where it costs little. That is: most of the view
 * lies in files of that filesystem, which shares blocks; nothing of it has to be computed, or
 * looked at first; and what is to be written is not much, neither by itself nor of what the disk
 * has left.
 * Returns a descriptor, which is the caller's and all that there is of the file, or -errno: ENOTSUP
 * it costs more. Asks the disk, and tries it. */
int shared_file_new(struct view *view, const char *directory);

/* Make it hold what the view does. Returns 0 or -errno, as view_write() does: EINTR where *stop or
 * *ending became true, each of which may be NULL. */
int shared_file_fill(int fd, struct view *view, const atomic_bool *stop, const atomic_bool *ending);

#endif
