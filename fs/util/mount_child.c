/* SPDX-License-Identifier: MIT */
/* mount_child.c - see mount_child.h. */
#include "fs/util/mount_child.h"
#include "fs/util/clock.h"
#include "fs/util/mountinfo.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#define REAPING_MS 1000 /* for a child that a request to the daemon may hold in the kernel */

/* Room for a descriptor in a message, aligned as for the kernel. */
union control {
	struct cmsghdr header;
	char room[CMSG_SPACE(sizeof(int))];
};

/* A process of root becomes that user for good; other processes keep their user. */
static bool become(const struct mountinfo *mount)
{
	unsigned user, group;

	if (!mountinfo_option(mount, "user_id", &user) ||
	    !mountinfo_option(mount, "group_id", &group))
		return false;
	if (geteuid() != 0 || user == 0)
		return true;
	return setgroups(0, NULL) == 0 && setresgid(group, group, group) == 0 &&
	       setresuid(user, user, user) == 0 && getegid() == group && geteuid() == user;
}

static bool is_root_of(int place, dev_t device)
{
	struct statx stat;

	/* Root may ask for the device number even if the mount is closed to root. */
	return statx(place, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &stat) == 0 &&
	       makedev(stat.stx_dev_major, stat.stx_dev_minor) == device;
}

static int work(const struct mountinfo *mount, int socket, mount_child_job *job,
		const void *context)
{
	const int place = open(mount->point, O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC);

	if (place < 0)
		return errno;
	if (!is_root_of(place, mount->device))
		return ESTALE;
	if (!become(mount))
		return EPERM;
	return fchdir(place) < 0 ? errno : job(socket, context);
}

void mount_child_begin(struct mount_child *child, const struct mountinfo *mount, int64_t patience,
		       mount_child_job *job, const void *context)
{
	int ends[2];

	*child = (struct mount_child){ -1, -1, clock_ms() + patience };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return;
	child->socket = ends[0];
	child->pid = fork();
	if (child->pid == 0) {
		/* A reader of the parent's output must not wait for a child that the kernel cannot
		 * end. */
		for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
			if (fd != ends[1])
				close(fd);
		/* End even if the parent was killed. */
		alarm((unsigned)(patience / 1000) + 2);
		_exit(work(mount, ends[1], job, context));
	}
	close(ends[1]);
}

int mount_child_send(int socket, const char *text, size_t n, int fd)
{
	union control control = { .room = { 0 } };
	struct iovec iov = { .iov_base = (void *)(uintptr_t)text, .iov_len = n };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *header;

	if (fd >= 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(header), &fd, sizeof(int));
	}
	return sendmsg(socket, &message, MSG_NOSIGNAL) == (ssize_t)n ? 0 : EIO;
}

/* The descriptor in a message; -1: none. */
static int descriptor_of(struct msghdr *message)
{
	struct cmsghdr *header = CMSG_FIRSTHDR(message);
	int fd;

	if (!header || header->cmsg_type != SCM_RIGHTS || header->cmsg_len != CMSG_LEN(sizeof(int)))
		return -1;
	memcpy(&fd, CMSG_DATA(header), sizeof(int));
	return fd;
}

/* Milliseconds from now, for poll(2). */
static int left_until(int64_t until)
{
	const int64_t left = until - clock_ms();

	return left > 0 ? (int)left : 0;
}

ssize_t mount_child_receive(struct mount_child *child, char *text, size_t n, int *fd)
{
	union control control;
	struct iovec iov = { .iov_base = text, .iov_len = n };
	struct msghdr message = { .msg_iov = &iov,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	struct pollfd poll_for = { .fd = child->socket, .events = POLLIN };
	ssize_t got = 0;
	int with;

	if (child->socket >= 0 && poll(&poll_for, 1, left_until(child->until)) == 1)
		got = recvmsg(child->socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	with = got > 0 ? descriptor_of(&message) : -1;
	if (fd)
		*fd = with;
	else if (with >= 0)
		close(with);
	return got > 0 ? got : -1;
}

int mount_child_end(struct mount_child *child)
{
	const int pidfd = child->pid > 0 ? pidfd_open(child->pid, 0) : -1;
	struct pollfd poll_for = { .fd = pidfd, .events = POLLIN };
	int status = 0;
	bool ended;

	if (child->socket >= 0)
		close(child->socket);
	if (child->pid <= 0)
		return EAGAIN;
	/* A job that was asked for no answer any more may be about to end. */
	if (pidfd >= 0)
		poll(&poll_for, 1, left_until(child->until));
	kill(child->pid, SIGKILL);
	/* Children that began together have this time together. */
	if (pidfd >= 0) {
		poll(&poll_for, 1, left_until(child->until + REAPING_MS));
		close(pidfd);
	}
	ended = waitpid(child->pid, &status, pidfd >= 0 ? WNOHANG : 0) == child->pid;
	return ended && WIFEXITED(status) ? WEXITSTATUS(status) : ETIMEDOUT;
}
