/* SPDX-License-Identifier: MIT */
/* daemon_status.c - see daemon_status.h. */
#include "mount-helpers/daemon_status.h"
#include "fs/util/mount_child.h"
#include "fs/util/mountinfo.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define ATTRIBUTE   "user.organfs.daemon"
#define PATIENCE_MS 10000 /* for an answer */
#define ANSWER_MAX  128

bool daemon_status_parse(const char *text, unsigned *pid, unsigned *fd,
			 char name[DAEMON_STATUS_NAME_MAX])
{
	static const char digits[] = "0123456789";
	const size_t n = strspn(text, digits), m = n && text[n] ? strspn(text + n + 1, digits) : 0;
	const char *rest = text + n + m + 1;

	if (!n || n > 9 || !m || m > 9 || text[n] != ' ' || *rest != ' ' ||
	    strncmp(rest + 1, "organfs-", 8) != 0 || strlen(rest + 1) >= DAEMON_STATUS_NAME_MAX)
		return false;
	*pid = (unsigned)strtoul(text, NULL, 10);
	*fd = (unsigned)strtoul(text + n, NULL, 10);
	strcpy(name, rest + 1);
	return true;
}

/* Check the file's properties that need no open file description; fd may be O_PATH. */
static bool looks_like_status(int fd, const char *name, uid_t user)
{
	char path[64], link[DAEMON_STATUS_NAME_MAX + 32], expected[DAEMON_STATUS_NAME_MAX + 32];
	struct stat stat;
	ssize_t n;

	if (fstat(fd, &stat) < 0 || !S_ISREG(stat.st_mode) || stat.st_uid != user)
		return false;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, link, sizeof(link));
	snprintf(expected, sizeof(expected), "/memfd:%s (deleted)", name);
	return n == (ssize_t)strlen(expected) && memcmp(link, expected, (size_t)n) == 0;
}

bool daemon_status_check_file(int fd, const char *name, uid_t user)
{
	/* Only memfds have seals, and F_GET_SEALS sends no request to a filesystem. */
	return fcntl(fd, F_GET_SEALS) >= 0 && looks_like_status(fd, name, user);
}

/* Open the file that the answer names for reading. Returns -1 if it is no status. */
static int open_status(const char *text, uid_t user)
{
	char path[64], name[DAEMON_STATUS_NAME_MAX];
	unsigned pid, number;
	int place, fd = -1;

	if (!daemon_status_parse(text, &pid, &number, name))
		return -1;
	snprintf(path, sizeof(path), "/proc/%u/fd/%u", pid, number);
	place = open(path, O_PATH | O_CLOEXEC);
	if (place < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", place);
	if (looks_like_status(place, name, user))
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	close(place);
	return fd;
}

/* Context of the child. */
struct question {
	unsigned user;
	int events;
};

/* Run in the child: send whether inotify will report the end of the superblock, and the daemon's
 * answer. */
static int ask(int socket, const void *context)
{
	const struct question *question = context;
	char text[ANSWER_MAX];
	const ssize_t n = getxattr(".", ATTRIBUTE, text + 1, sizeof(text) - 2);
	int fd;

	if (n <= 0)
		return n < 0 ? errno : ENODATA;
	text[n + 1] = '\0';
	/* Any watch also reports IN_UNMOUNT. */
	text[0] = inotify_add_watch(question->events, ".", IN_DELETE_SELF) < 0 ? '-' : '+';
	fd = open_status(text + 1, question->user);
	return fd < 0 ? ENODATA : mount_child_send(socket, text, strlen(text) + 1, fd);
}

/* Keep the descriptors that the child has sent, if one is a status. */
static void take(struct daemon_status *daemon, const char *text, unsigned user)
{
	unsigned pid, number;
	char name[DAEMON_STATUS_NAME_MAX];

	if (text[0] != '+' && daemon->events >= 0) {
		close(daemon->events);
		daemon->events = -1;
	}
	if (!daemon_status_parse(text + 1, &pid, &number, name) ||
	    !daemon_status_check_file(daemon->status, name, user)) {
		close(daemon->status);
		daemon->status = -1;
	}
}

bool daemon_status_open(const struct mountinfo *mount, struct daemon_status *daemon)
{
	struct question question = { .events = inotify_init1(IN_CLOEXEC | IN_NONBLOCK) };
	struct mount_child child;
	char text[ANSWER_MAX] = "";
	ssize_t n;

	*daemon = (struct daemon_status){ .status = -1, .events = question.events };
	if (!mountinfo_option(mount, "user_id", &question.user))
		return false;
	mount_child_begin(&child, mount, PATIENCE_MS, ask, &question);
	n = mount_child_receive(&child, text, sizeof(text) - 1, &daemon->status);
	daemon->is_dead = mount_child_is_dead(mount_child_end(&child));
	if (n > 0 && daemon->status >= 0)
		take(daemon, text, question.user);
	return daemon->status >= 0;
}

void daemon_status_close(struct daemon_status *daemon)
{
	if (daemon->status >= 0)
		close(daemon->status);
	if (daemon->events >= 0)
		close(daemon->events);
}
