/* SPDX-License-Identifier: MIT */
/* asking.h - from a mount to the status of its daemon (fs/mount/unmount_status.h), to which the
 * attribute user.organfs.daemon of the mount's root leads.
 *
 * The mount's owner may have it answer anything, late or never, so a child asks (mount_child.h). It
 * is given ten seconds, and opens without waiting. What it hands over counts only if it is a file
 * in memory of that user by the name in the answer: reading it never waits. What stands in it is
 * the user's all the same (outcome.h). */
#ifndef MOUNT_HELPERS_ASKING_H
#define MOUNT_HELPERS_ASKING_H

#include <stdbool.h>
#include <sys/types.h>

struct mountinfo;

#define ASKING_NAME_MAX 64

struct asked {
	int status;   /* of the daemon; -1: it cannot be asked */
	int events;   /* readable when the superblock is gone; -1: that is not told */
	bool is_dead; /* without a status: the daemon has ended, as its user could find out */
};

/* Ask the daemon of a mount. asked_release() is due either way. Nothing of this keeps the mount in
 * use afterwards. Returns whether the status is there. */
bool asking_ask(const struct mountinfo *mount, struct asked *asked);
void asked_release(struct asked *asked);

/* The answer "PID FD NAME". False: it is none. */
bool asking_parse(const char *text, unsigned *pid, unsigned *fd, char name[ASKING_NAME_MAX]);

/* Is the descriptor that of a status of that name, made by that user? Does not wait, whatever it
 * is. */
bool asking_is_status(int fd, const char *name, uid_t user);

#endif
