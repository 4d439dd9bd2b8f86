/* SPDX-License-Identifier: MIT */
/* view_file.h - finds out whether a view equals a whole file on disk. */
#ifndef FS_STORAGE_VIEW_FILE_H
#define FS_STORAGE_VIEW_FILE_H

#include <stdbool.h>

struct backing;
struct view;

/* The plain file whose bytes, all of them, are those of the view. The file is unchanged since its
 * opening, and its hash, if required, was verified. If the view begins with a header in memory, the
 * header is compared with the file's. Borrowed from the view. NULL: no such file, or unknown. Any
 * thread may call it; it accesses the disk. */
struct backing *view_file(struct view *view);

/* Can view_file() ever find a file? Constant for a view; does not access the disk. */
bool view_file_is_likely(const struct view *view);

#endif
