/* SPDX-License-Identifier: MIT */
/* directory_notes.h - the kernel keeps the attributes of the directories that grafts are in, and
 * each graft changes the time of one: the kernel is told so before the graft is confirmed. */
#ifndef FS_FUSE_DIRECTORY_NOTES_H
#define FS_FUSE_DIRECTORY_NOTES_H

struct fuse_session;
struct mount;

/* The two are borrowed. */
struct directory_notes {
	struct mount *fs;
	struct fuse_session *session;
};

/* From now on; before the session answers its first request. notes is borrowed for as long as
 * models of the mount change. */
void directory_notes_begin(struct directory_notes *notes);

#endif
