/* SPDX-License-Identifier: MIT */
/* mounting.h - mount.organfs(8). organfs itself drops what fstab tells mount(8) and systemd. What
 * is done here is what mount(8) speaks differently, double quotes around values with commas
 * (arguments.h) and exit statuses; setuid=; -N; and nofail, which mount(8) leaves to its
 * helpers. */
#ifndef MOUNT_HELPERS_MOUNTING_H
#define MOUNT_HELPERS_MOUNTING_H

struct mount_arguments;

/* Mount as the arguments say; path is this program's. name begins what is said on stderr. May give
 * up this process's rights, environment and namespace of mounts. Returns the exit status. */
int mounting_run(const char *name, const char *path, const struct mount_arguments *arguments);

#endif
