/* SPDX-License-Identifier: MIT */
/* shared_file.h - a view as an unlinked file that shares its blocks with the files under the view,
 * where the filesystem can do that (XFS, btrfs): it costs the bytes that lie nowhere as they are,
 * and some milliseconds. */
#ifndef FS_ASSEMBLE_SHARED_FILE_H
#define FS_ASSEMBLE_SHARED_FILE_H

#include "fs/storage/view.h"

/* Would such a file in that directory cost little? That is: most of the view lies in files of that
 * filesystem, which shares blocks; nothing of it has to be computed; and what is to be written is
 * not much, neither by itself nor of what the disk has left. Asks the disk, and tries it on an
 * unlinked file. */
bool shared_file_is_cheap(struct view *view, const char *directory);

/* Make it. Returns a descriptor for reading, which is the caller's and all that there is of the
 * file, or -errno, as view_write() and open(2) say: EINTR where *stop became true. */
int shared_file_new(struct view *view, const char *directory, const atomic_bool *stop);

#endif
