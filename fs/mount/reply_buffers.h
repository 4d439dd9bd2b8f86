/* SPDX-License-Identifier: MIT */
/* reply_buffers.h - pool of reply buffers, so that a read neither allocates nor zeroes memory. */
#ifndef FS_MOUNT_REPLY_BUFFERS_H
#define FS_MOUNT_REPLY_BUFFERS_H

#include <stddef.h>

/* Size of one buffer: the largest read request of the kernel. */
#define REPLY_BUFFER_SIZE ((size_t)1 << 20)

struct reply_buffers; /* any thread may use it */

struct reply_buffers *reply_buffers_new(void);
void reply_buffers_free(struct reply_buffers *buffers);

/* A page-aligned buffer of REPLY_BUFFER_SIZE bytes, to return with reply_buffers_put(). NULL: out
 * of memory. The pool never grows beyond the most buffers in use at once. */
void *reply_buffers_get(struct reply_buffers *buffers);
void reply_buffers_put(struct reply_buffers *buffers, void *buffer);

#endif
