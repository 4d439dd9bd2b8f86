/* SPDX-License-Identifier: MIT */
/* clock.c - the clocks of organfs-faults, by -Wl,--wrap. The file $CLOCK has two numbers of
 * seconds: the first is added to the time of day, the second to the steady clocks. The file is
 * read at each call, and a thread that waits for a time notices a jump at once. If no transfer is
 * under way between two tries of HTTP, the steady clocks skip the pause, and no thread waits. */
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TICK_MS 20

/* Opened at the start, because a process may have no free descriptor later. */
static int file = -1;
static atomic_llong last_day, last_steady; /* seconds in the file at the last call */
static atomic_llong skipped;		   /* milliseconds */

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("CLOCK");

	if (path)
		file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
}

/* Read the two numbers. A file that is still empty leaves them as they are. */
static void read_file(long long *day, long long *steady)
{
	char text[48];
	const long n = file < 0 ? 0 : syscall(SYS_pread64, file, text, sizeof(text) - 1, 0L);

	*day = atomic_load(&last_day);
	*steady = atomic_load(&last_steady);
	text[n > 0 ? n : 0] = '\0';
	sscanf(text, "%lld %lld", day, steady);
	atomic_store(&last_day, *day);
	atomic_store(&last_steady, *steady);
}

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	const int rc = __real_clock_gettime(clock, now);
	long long day, steady, ms = 0;

	read_file(&day, &steady);
	if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
		ms = day * 1000;
	else if (clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_COARSE)
		ms = steady * 1000 + atomic_load(&skipped);
	now->tv_sec += ms / 1000;
	now->tv_nsec += ms % 1000 * 1000000;
	if (now->tv_nsec >= 1000000000) {
		now->tv_nsec -= 1000000000;
		now->tv_sec++;
	}
	return rc;
}

time_t __wrap_time(time_t *out);
time_t __wrap_time(time_t *out)
{
	struct timespec now;

	__wrap_clock_gettime(CLOCK_REALTIME, &now);
	if (out)
		*out = now.tv_sec;
	return now.tv_sec;
}

static int64_t milliseconds(const struct timespec *time)
{
	return (int64_t)time->tv_sec * 1000 + time->tv_nsec / 1000000;
}

/* Wait in small steps, after each of which the caller checks its condition as after any other
 * signal. A time that is far off is not of the steady clock. */
int __real_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *lock,
				  const struct timespec *until);
int __wrap_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *lock,
				  const struct timespec *until);
int __wrap_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *lock,
				  const struct timespec *until)
{
	struct timespec now, step;
	int64_t left;

	__wrap_clock_gettime(CLOCK_MONOTONIC, &now);
	left = milliseconds(until) - milliseconds(&now);
	if (llabs(left) > 86400000)
		return __real_pthread_cond_timedwait(condition, lock, until);
	if (left <= 0)
		return ETIMEDOUT;
	__real_clock_gettime(CLOCK_MONOTONIC, &step);
	step.tv_nsec += (left < TICK_MS ? left : TICK_MS) * 1000000;
	if (step.tv_nsec >= 1000000000) {
		step.tv_nsec -= 1000000000;
		step.tv_sec++;
	}
	__real_pthread_cond_timedwait(condition, lock, &step);
	return 0;
}

/* Skip the wait. The caller has polled the transfers just before. */
CURLMcode __real_curl_multi_poll(CURLM *multi, struct curl_waitfd *more, unsigned n, int ms,
				 int *ready);
CURLMcode __wrap_curl_multi_poll(CURLM *multi, struct curl_waitfd *more, unsigned n, int ms,
				 int *ready);
CURLMcode __wrap_curl_multi_poll(CURLM *multi, struct curl_waitfd *more, unsigned n, int ms,
				 int *ready)
{
	int running;

	if (curl_multi_perform(multi, &running) != CURLM_OK || running)
		return __real_curl_multi_poll(multi, more, n, ms, ready);
	atomic_fetch_add(&skipped, ms);
	return CURLM_OK;
}
