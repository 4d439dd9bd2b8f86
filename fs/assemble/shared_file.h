/* SPDX-License-Identifier: MIT */
/* shared_file.h - a view as an unlinked file that shares its blocks with the files under the view,
 * on filesystems with reflinks (XFS, btrfs). It takes some milliseconds, and disk space only for
 * bytes that cannot be shared. */
#ifndef FS_ASSEMBLE_SHARED_FILE_H
#define FS_ASSEMBLE_SHARED_FILE_H

#include <stdatomic.h>

struct view;

/* Make an empty file for the view in that directory, if filling it will be cheap: most of the view
 * lies in files of that filesystem, which has reflinks; no byte has to be computed or verified
 * first; the bytes to write are few, also compared with the free space. Tries to share a block.
 * Returns a descriptor, the only reference to the file, or -errno: ENOTSUP not cheap. */
int shared_file_new(struct view *view, const char *directory);

/* Fill the file with the view's bytes. Returns as view_write(); EINTR if *stop or *ending became
 * true, each of which may be NULL. */
int shared_file_fill(int fd, struct view *view, const atomic_bool *stop, const atomic_bool *ending);

#endif
