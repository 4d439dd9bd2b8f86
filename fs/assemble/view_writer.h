/* SPDX-License-Identifier: MIT */
/* view_writer.h - a view put into a file, by the cheapest way for each of its parts
 * (copy_range.h). */
#ifndef FS_ASSEMBLE_VIEW_WRITER_H
#define FS_ASSEMBLE_VIEW_WRITER_H

struct error;
struct progress;
struct view;

/* Make the empty file fd, open for reading and writing, hold what the view does, without making it
 * durable. What can be shared is shared first; then there is room for the rest, or it is ENOSPC;
 * then it is written. Returns 0 or -errno with err set, and then the file holds anything: EIO also
 * where a file under the view is no longer what it was, EINTR cancelled. */
int view_write(int fd, struct view *view, struct progress *progress, struct error *err);

#endif
