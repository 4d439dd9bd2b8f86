/* SPDX-License-Identifier: MIT */
/* passthrough.h - the kernel's protocol for files that it reads by itself (FUSE passthrough, Linux
 * 6.9), which needs CAP_SYS_ADMIN. open() chooses the files (ops_open.c).
 *
 * libfuse 3.17 and later ask for passthrough in the answer to INIT; with an older libfuse this
 * module adds it to that answer. This module writes the answer to OPEN itself, because its form is
 * the kernel's and not libfuse's. */
#ifndef FS_FUSE_PASSTHROUGH_H
#define FS_FUSE_PASSTHROUGH_H

#define FUSE_USE_VERSION 312
#include "fs/fuse/ops.h"

#include <fuse_lowlevel.h>

struct fuse_session;

/* Call before the session answers its first request. */
void passthrough_prepare(struct mount *fs, struct fuse_session *session);

/* Ask for passthrough in the answer to INIT, with a libfuse that supports it. */
void passthrough_init(struct mount *fs, struct fuse_conn_info *connection);

/* Hand a file to the kernel, which reopens it for reading at each open(). Returns the kernel's
 * number of the file, above 0, or 0 if the kernel refuses the file. passthrough_give_back() takes
 * it back; its context is the mount. */
int passthrough_hand(struct mount *fs, int fd);
void passthrough_give_back(void *context, int number);

/* Answer an OPEN: the kernel reads the inode from the file with that number. Returns as
 * fuse_reply_open(). */
int passthrough_reply_open(fuse_req_t req, const struct fuse_file_info *fi, int number);

#endif
