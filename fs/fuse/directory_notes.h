/* SPDX-License-Identifier: MIT */
/* directory_notes.h - the kernel keeps the attributes of the directories that grafts are in, and
 * each graft changes the time of one: the kernel is told so before the graft is confirmed. It then
 * also wakes processes that wait by poll(2) for a change of .grafts or .log (ops_poll.c). */
#ifndef FS_FUSE_DIRECTORY_NOTES_H
#define FS_FUSE_DIRECTORY_NOTES_H

struct fuse_session;
struct mount;

/* From now on, by that session, before it answers its first request; and until its connection is
 * closed. */
void directory_notes_begin(struct mount *fs, struct fuse_session *session);
void directory_notes_end(struct mount *fs);

#endif
