/* SPDX-License-Identifier: MIT */
/* directory_notes.h - the kernel keeps the attributes of the directories that grafts are in, and
 * each graft changes the time of one: the kernel is told so before the graft is confirmed. */
#ifndef FS_FUSE_DIRECTORY_NOTES_H
#define FS_FUSE_DIRECTORY_NOTES_H

struct mount;

/* From now on; when the mount has its session, before that answers its first request. */
void directory_notes_begin(struct mount *fs);

#endif
