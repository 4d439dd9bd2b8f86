/* SPDX-License-Identifier: MIT */
/* foreign_options.h - mount options for other programs or filesystems. organfs drops them, so that
 * a line of fstab with them still mounts. */
#ifndef FS_MOUNT_FOREIGN_OPTIONS_H
#define FS_MOUNT_FOREIGN_OPTIONS_H

#include <stdbool.h>

/* Is the option, "NAME" or "NAME=VALUE", without effect on organfs? True for options of mount(8),
 * systemd and file managers, all that begin with "x-" or "X-", and FUSE options that change nothing
 * here. */
bool foreign_option_is_dropped(const char *argument);

/* Is it an option of FUSE whose value organfs sets itself? */
bool foreign_option_is_refused(const char *argument);

#endif
