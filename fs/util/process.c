/* SPDX-License-Identifier: MIT */
/* process.c - see process.h. /proc/N exists for every thread, though it is listed for processes
 * only. */
#include "fs/util/process.h"

#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bit of a signal in the sets of /proc/N/status: signal 1 is bit 0. */
#define BIT(number) (UINT64_C(1) << ((number)-1))
#define ONLY_STOP   (BIT(SIGSTOP) | BIT(SIGTSTP) | BIT(SIGTTIN) | BIT(SIGTTOU) | BIT(SIGCONT))
#define ONLY_NEWS   (BIT(SIGCHLD) | BIT(SIGURG) | BIT(SIGWINCH))

/* Room for /proc/N/status with a NUL. Only a thread with very many supplementary groups has a
 * longer one, whose last lines are then cut off. */
#define STATUS_MAX 16384

static int open_status(pid_t thread)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)thread);
	return thread < 1 ? -1 : open(path, O_RDONLY | O_CLOEXEC);
}

static bool read_status(pid_t thread, char text[STATUS_MAX])
{
	const int fd = open_status(thread);
	ssize_t n = 0, got = 0;

	if (fd < 0)
		return false;
	while (n < STATUS_MAX - 1 && (got = read(fd, text + n, (size_t)(STATUS_MAX - 1 - n))) > 0)
		n += got;
	close(fd);
	text[n] = '\0';
	return got >= 0;
}

pid_t process_of(pid_t thread)
{
	static const char name[] = "\nTgid:\t";
	const int fd = open_status(thread);
	char status[256]; /* Tgid is one of the first lines */
	const char *line;
	ssize_t n;

	if (fd < 0)
		return 0;
	n = read(fd, status, sizeof(status) - 1);
	close(fd);
	status[n < 0 ? 0 : n] = '\0';
	line = strstr(status, name);
	return line ? (pid_t)strtol(line + sizeof(name) - 1, NULL, 10) : 0;
}

/* Parse the hexadecimal set after that name. False: there is no such line. */
static bool find_set(const char *status, const char *name, uint64_t *set)
{
	const char *line = strstr(status, name);
	char *end;

	if (!line)
		return false;
	line += strlen(name);
	*set = strtoull(line, &end, 16);
	return end != line && *end == '\n';
}

bool process_is_signalled(pid_t thread)
{
	char status[STATUS_MAX];
	uint64_t own, shared, blocked, caught;

	if (!read_status(thread, status) || !find_set(status, "\nSigPnd:\t", &own) ||
	    !find_set(status, "\nShdPnd:\t", &shared) ||
	    !find_set(status, "\nSigBlk:\t", &blocked) || !find_set(status, "\nSigCgt:\t", &caught))
		return true;
	return ((own | shared) & ~blocked & ~ONLY_NEWS & ~(ONLY_STOP & ~caught)) != 0;
}
