/* SPDX-License-Identifier: MIT */
/* unmount_forecast.h - the text of the attribute user.organfs.unmount: the changes of a mount, and
 * the files that an unmount would write now. */
#ifndef FS_MOUNT_UNMOUNT_FORECAST_H
#define FS_MOUNT_UNMOUNT_FORECAST_H

#include <limits.h>
#include <stddef.h>

struct model;
struct mount;

#define UNMOUNT_FORECAST_MAX (PATH_MAX + 256)

/* Print the sums over one model, or over all models if model is NULL, into text of n bytes:
 *
 *	models=1 grafts=9 adapters=0 merges=0 files=1 bytes=1814688 path=/home/user/x.grafted.gguf
 *
 * files is the number of models to be written. It is 0 if nothing has changed since the last
 * assembly or the mount writes nothing; then the text ends after bytes. path is the first of these
 * files and may have any bytes except NUL. Waits for disks. Returns the length, or -ENOMEM. */
int unmount_forecast_print(const struct mount *fs, const struct model *model, char *text, size_t n);

#endif
