/* SPDX-License-Identifier: MIT */
/* clock.c - preloaded: the time of day is what it is and as many seconds more as the file $CLOCK
 * says, which is read each time. Other clocks go on as they do. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long jump(void)
{
	const char *path = getenv("CLOCK");
	const int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	char text[32];
	ssize_t n;

	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return strtol(text, NULL, 10);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	const int rc = (int)syscall(SYS_clock_gettime, clock, now);

	if (rc == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		now->tv_sec += jump();
	return rc;
}

time_t time(time_t *out)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (out)
		*out = now.tv_sec;
	return now.tv_sec;
}
