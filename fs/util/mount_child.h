/* SPDX-License-Identifier: MIT */
/* mount_child.h - a child that asks a mount for something. The daemon may answer late, never, or as
 * its user likes, and root asks too. So:
 *
 * 1. The child opens the mount point with O_PATH, which asks the daemon nothing. The directory has
 *    to lie in the superblock that mountinfo calls one of organfs.
 * 2. A child of root becomes the mount's user for good, and so opens nothing that this user could
 *    not open himself.
 * 3. The parent waits for the child until a deadline, and kills it then. Nothing of the child keeps
 *    the mount in use afterwards, unless the kernel cannot end it. */
#ifndef FS_UTIL_MOUNT_CHILD_H
#define FS_UTIL_MOUNT_CHILD_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct mountinfo;

struct mount_child {
	pid_t pid;
	int socket;
	int64_t until;
};

/* What the child does in the root of the mount, which is its working directory; its answers are
 * mount_child_send() to the socket. Returns 0 or an error number. */
typedef int mount_child_job(int socket, const void *context);

/* Begin a child, which has that many milliseconds. mount_child_end() is due. */
void mount_child_begin(struct mount_child *child, const struct mountinfo *mount, int64_t patience,
		       mount_child_job *job, const void *context);

/* Send an answer of n bytes, and a descriptor with it unless that is -1. Returns 0 or an error
 * number. */
int mount_child_send(int socket, const char *text, size_t n, int fd);

/* Wait for the next answer, of at most n bytes. Its descriptor, to close, goes to *fd, -1: it has
 * none; where fd is NULL it is closed. Returns the length, or -1: none came in time. */
ssize_t mount_child_receive(struct mount_child *child, char *text, size_t n, int *fd);

/* End the child. Returns the job's result; or why the job was not begun: ESTALE another filesystem
 * is there, EPERM root cannot become that user; or ETIMEDOUT: it had not ended. */
int mount_child_end(struct mount_child *child);

/* Does that result say that the daemon has ended? One that dies while it is asked gives
 * ECONNABORTED. */
static inline bool mount_child_is_dead(int result)
{
	return result == ENOTCONN || result == ECONNABORTED;
}

#endif
