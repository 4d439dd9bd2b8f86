/* SPDX-License-Identifier: MIT */
/* asking.h - finds the status of a mount's daemon (fs/mount/unmount_status.h) through the attribute
 * user.organfs.daemon of the mount's root.
 *
 * The mount's owner can make it answer anything, late or never. So a child asks (mount_child.h); it
 * has ten seconds, and opens files without waiting. The parent accepts a descriptor only if it is a
 * memfd of that user with the name in the answer, because reads of a memfd never wait. Its content
 * stays untrusted (outcome.h). */
#ifndef MOUNT_HELPERS_ASKING_H
#define MOUNT_HELPERS_ASKING_H

#include <stdbool.h>
#include <sys/types.h>

struct mountinfo;

#define ASKING_NAME_MAX 64

struct asked {
	int status;   /* of the daemon; -1: it cannot be asked */
	int events;   /* inotify, readable when the superblock is gone; -1: not available */
	bool is_dead; /* without a status: the daemon has ended, as a child of its user found */
};

/* Ask the daemon of a mount, without keeping the mount in use afterwards. Returns whether there is
 * a status. The caller calls asked_release() in each case. */
bool asking_ask(const struct mountinfo *mount, struct asked *asked);
void asked_release(struct asked *asked);

/* Parse the answer "PID FD NAME". Returns false if it is malformed. */
bool asking_parse(const char *text, unsigned *pid, unsigned *fd, char name[ASKING_NAME_MAX]);

/* Is the descriptor a status of that name, created by that user? Never waits, for any kind of
 * file. */
bool asking_is_status(int fd, const char *name, uid_t user);

#endif
