/* SPDX-License-Identifier: MIT */
/* in_flight.c - see in_flight.h. */
#include "fs/util/in_flight.h"
#include "fs/util/cond_poll.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

struct in_flight {
	atomic_uint any;      /* begun + expected; changed with the lock held */
	pthread_mutex_t lock; /* protects the members below */
	unsigned begun, expected;
	struct timespec until; /* end of the wait for an expected release, CLOCK_MONOTONIC */
	pthread_cond_t changed;
};

struct in_flight *in_flight_new(void)
{
	struct in_flight *in_flight = calloc(1, sizeof(*in_flight));

	if (!in_flight)
		return NULL;
	atomic_init(&in_flight->any, 0);
	pthread_mutex_init(&in_flight->lock, NULL);
	cond_poll_init(&in_flight->changed);
	return in_flight;
}

void in_flight_free(struct in_flight *in_flight)
{
	if (!in_flight)
		return;
	pthread_cond_destroy(&in_flight->changed);
	pthread_mutex_destroy(&in_flight->lock);
	free(in_flight);
}

static void change(struct in_flight *in_flight, int begun, int expected)
{
	pthread_mutex_lock(&in_flight->lock);
	in_flight->begun += (unsigned)begun;
	in_flight->expected += (unsigned)expected;
	atomic_store(&in_flight->any, in_flight->begun + in_flight->expected);
	if (expected > 0) {
		clock_gettime(CLOCK_MONOTONIC, &in_flight->until);
		in_flight->until.tv_sec += IN_FLIGHT_EXPECT_SECONDS;
	}
	pthread_cond_broadcast(&in_flight->changed);
	pthread_mutex_unlock(&in_flight->lock);
}

void in_flight_expect(struct in_flight *in_flight)
{
	change(in_flight, 0, 1);
}

void in_flight_unexpect(struct in_flight *in_flight)
{
	change(in_flight, 0, -1);
}

void in_flight_begin(struct in_flight *in_flight)
{
	change(in_flight, 1, 0);
}

void in_flight_end(struct in_flight *in_flight)
{
	change(in_flight, -1, 0);
}

/* With the lock held. */
static bool is_expected(const struct in_flight *in_flight)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return in_flight->expected &&
	       (now.tv_sec < in_flight->until.tv_sec ||
		(now.tv_sec == in_flight->until.tv_sec && now.tv_nsec < in_flight->until.tv_nsec));
}

bool in_flight_any(struct in_flight *in_flight)
{
	bool any;

	if (atomic_load(&in_flight->any) == 0)
		return false;
	pthread_mutex_lock(&in_flight->lock);
	any = in_flight->begun || is_expected(in_flight);
	pthread_mutex_unlock(&in_flight->lock);
	return any;
}

void in_flight_wait(struct in_flight *in_flight)
{
	pthread_mutex_lock(&in_flight->lock);
	while (in_flight->begun || is_expected(in_flight)) {
		if (in_flight->begun)
			pthread_cond_wait(&in_flight->changed, &in_flight->lock);
		else
			pthread_cond_timedwait(&in_flight->changed, &in_flight->lock,
					       &in_flight->until);
	}
	pthread_mutex_unlock(&in_flight->lock);
}
