/* SPDX-License-Identifier: MIT */
/* view_writer.h - a view written into a file, each part in the cheapest way (copy_range.h). */
#ifndef FS_ASSEMBLE_VIEW_WRITER_H
#define FS_ASSEMBLE_VIEW_WRITER_H

struct error;
struct progress;
struct view;

/* Fill the empty file fd, open for reading and writing, with the view's bytes, without a sync.
 * Parts that can be shared are shared first; then space for the rest is reserved, or ENOSPC
 * returned; then the rest is written. Returns 0, or -errno with err set and any content in the
 * file: EIO also if a file under the view has changed, EINTR cancelled. */
int view_write(int fd, struct view *view, struct progress *progress, struct error *err);

#endif
