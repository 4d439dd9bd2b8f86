/* SPDX-License-Identifier: MIT */
/* asking.c - see asking.h. */
#include "mount-helpers/asking.h"
#include "fs/util/mountinfo.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define ATTRIBUTE   "user.organfs.daemon"
#define PATIENCE_MS 10000 /* for an answer */
#define REAPING_MS  1000  /* for the child, which a request to the daemon may hold in the kernel */
#define ANSWER_MAX  128

/* A descriptor that goes with a message, aligned as the kernel wants it. */
union control {
	struct cmsghdr header;
	char room[CMSG_SPACE(sizeof(int))];
};

bool asking_parse(const char *text, unsigned *pid, unsigned *fd, char name[ASKING_NAME_MAX])
{
	static const char digits[] = "0123456789";
	const size_t n = strspn(text, digits), m = n && text[n] ? strspn(text + n + 1, digits) : 0;
	const char *rest = text + n + m + 1;

	if (!n || n > 9 || !m || m > 9 || text[n] != ' ' || *rest != ' ' ||
	    strncmp(rest + 1, "organfs-", 8) != 0 || strlen(rest + 1) >= ASKING_NAME_MAX)
		return false;
	*pid = (unsigned)strtoul(text, NULL, 10);
	*fd = (unsigned)strtoul(text + n, NULL, 10);
	strcpy(name, rest + 1);
	return true;
}

/* By what is known of it without opening it: fd may be of O_PATH. */
static bool looks_like_status(int fd, const char *name, uid_t user)
{
	char path[64], link[ASKING_NAME_MAX + 32], expected[ASKING_NAME_MAX + 32];
	struct stat stat;
	ssize_t n;

	if (fstat(fd, &stat) < 0 || !S_ISREG(stat.st_mode) || stat.st_uid != user)
		return false;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, link, sizeof(link));
	snprintf(expected, sizeof(expected), "/memfd:%s (deleted)", name);
	return n == (ssize_t)strlen(expected) && memcmp(link, expected, (size_t)n) == 0;
}

bool asking_is_status(int fd, const char *name, uid_t user)
{
	/* Files in memory alone have seals; asking for them asks no filesystem. */
	return fcntl(fd, F_GET_SEALS) >= 0 && looks_like_status(fd, name, user);
}

/* Root becomes that user for good. Others stay who they are. */
static bool become(uid_t user, gid_t group)
{
	if (geteuid() != 0 || user == 0)
		return true;
	return setgroups(0, NULL) == 0 && setresgid(group, group, group) == 0 &&
	       setresuid(user, user, user) == 0 && getegid() == group && geteuid() == user;
}

static bool send_answer(int socket, char *text, size_t n, int fd)
{
	union control control = { .room = { 0 } };
	struct iovec iov = { .iov_base = text, .iov_len = n };
	struct msghdr message = { .msg_iov = &iov,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fd, sizeof(int));
	return sendmsg(socket, &message, MSG_NOSIGNAL) == (ssize_t)n;
}

/* What the answer names, open for reading; -1: it is no status. */
static int open_status(const char *text, uid_t user)
{
	char path[64], name[ASKING_NAME_MAX];
	unsigned pid, number;
	int place, fd = -1;

	if (!asking_parse(text, &pid, &number, name))
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

/* Exit statuses of the child. */
enum { ANSWERED, NOT_ANSWERED, DEAD };

/* The child: sends whether the end of the superblock will be told, and what the daemon answered. */
static int ask_as(uid_t user, gid_t group, int place, int events, int socket)
{
	char text[ANSWER_MAX];
	ssize_t n;
	int fd;

	alarm(PATIENCE_MS / 1000 + 1);
	if (!become(user, group))
		return NOT_ANSWERED;
	n = fchdir(place);
	if (n == 0)
		n = getxattr(".", ATTRIBUTE, text + 1, sizeof(text) - 2);
	/* A daemon that dies while it is asked gives ECONNABORTED. */
	if (n <= 0)
		return n < 0 && (errno == ENOTCONN || errno == ECONNABORTED) ? DEAD : NOT_ANSWERED;
	text[n + 1] = '\0';
	/* It comes with any watch. */
	text[0] = inotify_add_watch(events, ".", IN_DELETE_SELF) < 0 ? '-' : '+';
	fd = open_status(text + 1, user);
	return fd >= 0 && send_answer(socket, text, strlen(text) + 1, fd) ? ANSWERED : NOT_ANSWERED;
}

/* The answer of the child, with a descriptor to close; -1: none came in time. */
static int receive(int socket, char text[ANSWER_MAX])
{
	union control control;
	struct iovec iov = { .iov_base = text, .iov_len = ANSWER_MAX };
	struct msghdr message = { .msg_iov = &iov,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	struct pollfd poll_for = { .fd = socket, .events = POLLIN };
	struct cmsghdr *header;
	int fd;

	if (poll(&poll_for, 1, PATIENCE_MS) != 1 ||
	    recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) <= 0)
		return -1;
	header = CMSG_FIRSTHDR(&message);
	if (!header || header->cmsg_type != SCM_RIGHTS || header->cmsg_len != CMSG_LEN(sizeof(int)))
		return -1;
	memcpy(&fd, CMSG_DATA(header), sizeof(int));
	text[ANSWER_MAX - 1] = '\0';
	return fd;
}

/* Its working directory keeps the mount in use. Returns whether it has found the daemon dead. */
static bool end_child(pid_t pid)
{
	const int pidfd = pidfd_open(pid, 0);
	int status = 0;
	struct pollfd poll_for = { .fd = pidfd, .events = POLLIN };

	kill(pid, SIGKILL);
	if (pidfd >= 0) {
		poll(&poll_for, 1, REAPING_MS);
		close(pidfd);
	}
	return waitpid(pid, &status, pidfd >= 0 ? WNOHANG : 0) == pid && WIFEXITED(status) &&
	       WEXITSTATUS(status) == DEAD;
}

static bool is_root_of(int place, dev_t device)
{
	struct statx stat;

	/* For the device alone root may ask a mount that is closed to it. */
	return statx(place, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &stat) == 0 &&
	       makedev(stat.stx_dev_major, stat.stx_dev_minor) == device;
}

static void ask_child(const struct mountinfo *mount, int place, struct asked *asked)
{
	unsigned user, group, pid_of_status, number;
	char text[ANSWER_MAX] = "", name[ASKING_NAME_MAX];
	int sockets[2];
	pid_t pid;

	if (!mountinfo_option(mount, "user_id", &user) ||
	    !mountinfo_option(mount, "group_id", &group) ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return;
	pid = fork();
	if (pid == 0)
		_exit(ask_as(user, group, place, asked->events, sockets[1]));
	close(sockets[1]);
	if (pid > 0) {
		asked->status = receive(sockets[0], text);
		asked->is_dead = end_child(pid);
	}
	close(sockets[0]);
	if (asked->status < 0)
		return;
	if (text[0] != '+' && asked->events >= 0) {
		close(asked->events);
		asked->events = -1;
	}
	if (!asking_parse(text + 1, &pid_of_status, &number, name) ||
	    !asking_is_status(asked->status, name, user)) {
		close(asked->status);
		asked->status = -1;
	}
}

bool asking_ask(const struct mountinfo *mount, struct asked *asked)
{
	const int place = open(mount->point, O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC);

	*asked = (struct asked){ .status = -1, .events = -1 };
	if (place < 0)
		return false;
	asked->events = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (is_root_of(place, mount->device))
		ask_child(mount, place, asked);
	close(place);
	return asked->status >= 0;
}

void asked_release(struct asked *asked)
{
	if (asked->status >= 0)
		close(asked->status);
	if (asked->events >= 0)
		close(asked->events);
}
