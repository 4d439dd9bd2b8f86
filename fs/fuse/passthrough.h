/* SPDX-License-Identifier: MIT */
/* passthrough.h - files that the kernel reads by itself (FUSE passthrough, Linux 6.9): what is said
 * to the kernel for that. It takes CAP_SYS_ADMIN. Which files they are, open() decides
 * (ops_open.c).
 *
 * libfuse asks the kernel for it in the answer to INIT since 3.17. For an older one that answer is
 * completed on its way to the kernel. The answer to OPEN is written here in either
 * case, for its form is the kernel's and not libfuse's. */
#ifndef FS_FUSE_PASSTHROUGH_H
#define FS_FUSE_PASSTHROUGH_H

#define FUSE_USE_VERSION 312
#include "fs/fuse/ops.h"

#include <fuse_lowlevel.h>

struct fuse_session;

/* Before the session answers its first request. */
void passthrough_prepare(struct mount *fs, struct fuse_session *session);

/* In the answer to INIT, with a libfuse that knows of it. */
void passthrough_init(struct mount *fs, struct fuse_conn_info *connection);

/* Hand a file to the kernel, which opens it anew to read for each open(): the number by which it
 * knows the file, above 0, or 0 where it will not have it. passthrough_give_back() takes it back;
 * context is the mount. */
int passthrough_hand(struct mount *fs, int fd);
void passthrough_give_back(void *context, int number);

/* Answer an OPEN whose inode is read by the kernel from the file with that number. As
 * fuse_reply_open(). */
int passthrough_reply_open(fuse_req_t req, const struct fuse_file_info *fi, int number);

#endif
