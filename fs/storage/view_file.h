/* SPDX-License-Identifier: MIT */
/* view_file.h - a view that is a file on disk, byte for byte. */
#ifndef FS_STORAGE_VIEW_FILE_H
#define FS_STORAGE_VIEW_FILE_H

#include <stdbool.h>

struct backing;
struct view;

/* The plain file that holds just what the view shows, from its first byte to its last: one that is
 * what it was when it was opened, whose hash was looked at where it has to have one. Bytes that the
 * view has in memory are compared with those of the file, so that the file is read where the view
 * begins with a header. Borrowed from the view. NULL: there is none, or it cannot be told. Any
 * thread may call it; it asks the disk. */
struct backing *view_file(struct view *view);

/* May view_file() ever find one? It asks no disk, and says the same of a view always. */
bool view_file_is_likely(const struct view *view);

#endif
