/* SPDX-License-Identifier: MIT */
/* noassemble.h - lets a mount end with its grafts in the layer and without a new model, by the
 * attribute user.organfs.noassemble of the mount's root. */
#ifndef MOUNT_HELPERS_NOASSEMBLE_H
#define MOUNT_HELPERS_NOASSEMBLE_H

struct mountinfo;

/* Set the attribute in a child (mount_child.h). Returns 1, and then the caller calls
 * noassemble_clear() if the mount stays; 0 if the mount writes nothing anyway; -errno if the daemon
 * refuses. */
int noassemble_set(const struct mountinfo *mount);

/* Remove the attribute. */
void noassemble_clear(const struct mountinfo *mount);

#endif
