/* SPDX-License-Identifier: MIT */
/* fill.h - a view put into a file, by the cheapest way for each of its parts (share.h). */
#ifndef FS_FILL_H
#define FS_FILL_H

#include "fs/storage/view.h"
#include "fs/util/progress.h"

/* Make the empty file fd, open for reading and writing, hold what the view does, without making it
 * durable. What can be shared is shared first; then there is room for the rest, or it is ENOSPC;
 * then it is written. Returns 0 or -errno with err set, and then the file holds anything: EIO also
 * where a file under the view is no longer what it was, EINTR cancelled. */
int fill_from_view(int fd, struct view *view, struct progress *progress, struct error *err);

#endif
