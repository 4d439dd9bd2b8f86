/* SPDX-License-Identifier: MIT */
/* directory_notices.h - notices to the kernel that the mtime of a directory has changed. The kernel
 * caches the attributes of directories, and each graft changes the mtime of its directory, so the
 * notice is sent before the graft is answered. The notice also wakes processes that poll(2) .grafts
 * or .log. */
#ifndef FS_FUSE_DIRECTORY_NOTICES_H
#define FS_FUSE_DIRECTORY_NOTICES_H

struct fuse_session;
struct mount;

/* Begin before the session answers its first request; end before its connection is closed. */
void directory_notices_begin(struct mount *fs, struct fuse_session *session);
void directory_notices_end(struct mount *fs);

#endif
