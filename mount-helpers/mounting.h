/* SPDX-License-Identifier: MIT */
/* mounting.h - mount.organfs(8). organfs itself drops options for mount(8) and systemd in fstab.
 * This helper translates double quotes around values with commas (arguments.h) and exit statuses,
 * and implements setuid=, -N and nofail, which mount(8) leaves to its helpers. */
#ifndef MOUNT_HELPERS_MOUNTING_H
#define MOUNT_HELPERS_MOUNTING_H

struct mount_arguments;

/* Mount as the arguments say; path is this program's, name the prefix of lines on stderr. May
 * change the rights, environment and mount namespace of this process. Returns the exit status. */
int mounting_run(const char *name, const char *path, const struct mount_arguments *arguments);

#endif
