/* SPDX-License-Identifier: MIT */
/* keeping.h - lets a mount end with its grafts in the layer and without a new model, by the
 * attribute user.organfs.noassemble of the mount's root. */
#ifndef MOUNT_HELPERS_KEEPING_H
#define MOUNT_HELPERS_KEEPING_H

struct mountinfo;

/* Set the attribute in a child (mount_child.h). Returns 1, and then the caller calls keeping_end()
 * if the mount stays; 0 if the mount writes nothing anyway; -errno if the daemon refuses. */
int keeping_begin(const struct mountinfo *mount);

/* Remove the attribute. */
void keeping_end(const struct mountinfo *mount);

#endif
