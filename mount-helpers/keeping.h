/* SPDX-License-Identifier: MIT */
/* keeping.h - a mount is to end with its grafts in the layer and no new model: the attribute
 * user.organfs.noassemble of the mount's root tells the daemon so. */
#ifndef MOUNT_HELPERS_KEEPING_H
#define MOUNT_HELPERS_KEEPING_H

struct mountinfo;

/* Set the attribute, with the care of mount_child.h. Returns 1: keeping_end() is due if the mount
 * stays; 0: the mount writes nothing in any case; or -errno: the daemon does not take it. */
int keeping_begin(const struct mountinfo *mount);

/* Remove the attribute. */
void keeping_end(const struct mountinfo *mount);

#endif
