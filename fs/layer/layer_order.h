/* SPDX-License-Identifier: MIT */
/* layer_order.h - does the filesystem of a layer keep its changes in order?
 *
 * ext4 with a journal (data=ordered) and XFS write what changes in directories and inodes to one
 * log, from which a crash loses an end and nothing in between: what is renamed, linked or unlinked
 * becomes durable in that order. One fsync() of the directory that was changed last then makes all
 * changes before it durable, whichever directories they were in, and a file whose bytes the disk
 * has (sync_file_range()) needs no fsync() of its own before it is renamed: its size and extents
 * are in the log before the rename. */
#ifndef FS_LAYER_LAYER_ORDER_H
#define FS_LAYER_LAYER_ORDER_H

#include <stdbool.h>

/* Where the kernel tells about itself. */
struct layer_order_places {
	const char *proc, *sys, *mountinfo; /* "/proc", "/sys", "/proc/self/mountinfo" */
};

/* Does the filesystem of the open directory keep them in order? False also where that cannot be
 * told. Reads files of /proc and /sys. */
bool layer_order_is_kept(int dir);

/* What the kernel says of a filesystem of that type (statfs(2)) and device. */
bool layer_order_is_told(const struct layer_order_places *places, unsigned long type,
			 unsigned major, unsigned minor);

#endif
