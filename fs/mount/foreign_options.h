/* SPDX-License-Identifier: MIT */
/* foreign_options.h - mount options that are for other programs or other filesystems, so that a
 * line of fstab with them still mounts. */
#ifndef FS_MOUNT_FOREIGN_OPTIONS_H
#define FS_MOUNT_FOREIGN_OPTIONS_H

#include <stdbool.h>

/* Options without effect on organfs, "NAME" or "NAME=VALUE": those of mount(8), systemd and file
 * managers, also all with "x-" or "X-", and those of FUSE that cannot change anything here. */
bool foreign_option_is_dropped(const char *argument);

/* Options of FUSE whose value organfs sets itself. */
bool foreign_option_is_refused(const char *argument);

#endif
