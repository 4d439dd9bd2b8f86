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

/* The child's job, run with the root of the mount as working directory; it answers by
 * mount_child_send() to the socket. Returns 0 or an error number. */
typedef int mount_child_job(int socket, const void *context);

/* Start a child with a deadline in that many milliseconds. mount_child_end() has to follow. */
void mount_child_begin(struct mount_child *child, const struct mountinfo *mount, int64_t patience,
		       mount_child_job *job, const void *context);

/* Send an answer of n bytes, with a descriptor unless fd is -1. Returns 0 or an error number. */
int mount_child_send(int socket, const char *text, size_t n, int fd);

/* Wait for the next answer, of at most n bytes. *fd is its descriptor, to close, or -1; if fd is
 * NULL, the descriptor is closed. Returns the length, or -1: no answer in time. */
ssize_t mount_child_receive(struct mount_child *child, char *text, size_t n, int *fd);

/* End the child. Returns the job's result, or if the job was not begun, ESTALE another filesystem
 * is mounted there, EPERM root cannot become that user; ETIMEDOUT the job was still running. */
int mount_child_end(struct mount_child *child);

/* Does that result show that the daemon has ended? ECONNABORTED: it ended during a request. */
static inline bool mount_child_is_dead(int result)
{
	return result == ENOTCONN || result == ECONNABORTED;
}

#endif
