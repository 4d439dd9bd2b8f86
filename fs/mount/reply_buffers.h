/* SPDX-License-Identifier: MIT */
/* buffers.h - reply buffers that are used again, so that a read neither allocates nor zeroes. */
#ifndef FS_BUFFERS_H
#define FS_BUFFERS_H

#include <stddef.h>

/* The size of one buffer: the most the kernel asks for at once. */
#define BUFFER_SIZE ((size_t)1 << 20)

struct buffers; /* any thread may use it */

struct buffers *buffers_new(void);
void buffers_free(struct buffers *buffers);

/* A page-aligned buffer of BUFFER_SIZE bytes to give back with buffers_put(). NULL: out of memory.
 * There are never more of them than were in use at once. */
void *buffers_get(struct buffers *buffers);
void buffers_put(struct buffers *buffers, void *buffer);

#endif
