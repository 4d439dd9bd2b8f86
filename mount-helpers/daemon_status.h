/* SPDX-License-Identifier: MIT */
/* daemon_status.h - finds the status of a mount's daemon (fs/mount/unmount_status.h) through the
 * attribute user.organfs.daemon of the mount's root.
 *
 * The mount's owner can make it answer anything, late or never. So a child asks (mount_child.h); it
 * has ten seconds, and opens files without waiting. The parent accepts a descriptor only if it is a
 * memfd of that user with the name in the answer, because reads of a memfd never wait. Its content
 * stays untrusted (outcome.h). */
#ifndef MOUNT_HELPERS_DAEMON_STATUS_H
#define MOUNT_HELPERS_DAEMON_STATUS_H

#include <stdbool.h>
#include <sys/types.h>

struct mountinfo;

#define DAEMON_STATUS_NAME_MAX 64

struct daemon_status {
	int status;   /* of the daemon; -1: it cannot be asked */
	int events;   /* inotify, readable when the superblock is gone; -1: not available */
	bool is_dead; /* without a status: the daemon has ended, as a child of its user found */
};

/* Find the status of a mount, without keeping the mount in use afterwards. Returns whether there is
 * a status. The caller calls daemon_status_close() in each case. */
bool daemon_status_open(const struct mountinfo *mount, struct daemon_status *daemon);
void daemon_status_close(struct daemon_status *daemon);

/* Parse the answer "PID FD NAME". Returns false if it is malformed. */
bool daemon_status_parse(const char *text, unsigned *pid, unsigned *fd,
			 char name[DAEMON_STATUS_NAME_MAX]);

/* Is the descriptor a status of that name, created by that user? Never waits, for any kind of
 * file. */
bool daemon_status_check_file(int fd, const char *name, uid_t user);

#endif
