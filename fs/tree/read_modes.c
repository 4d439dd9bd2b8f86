/* SPDX-License-Identifier: MIT */
/* read_modes.c - see read_modes.h. A list of the few inodes open at a time. */
#include "fs/tree/read_modes.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

/* Nanoseconds between two looks of a waiting thread at its stop flag. */
#define TICK_NS 20000000L

enum state { UNDECIDED, DECIDING, DECIDED };

struct read_mode {
	struct read_mode *next;
	uint64_t ino;
	unsigned users;
	enum state state;
	enum read_way way;
	int number;
};

struct read_modes {
	atomic_bool on;
	void (*give_back)(void *context, int number);
	void *context;
	pthread_mutex_t lock; /* protects the fields below and the modes */
	pthread_cond_t decided;
	struct read_mode *first;
};

struct read_modes *read_modes_new(void)
{
	struct read_modes *modes = calloc(1, sizeof(*modes));

	if (!modes)
		return NULL;
	pthread_mutex_init(&modes->lock, NULL);
	pthread_cond_init(&modes->decided, NULL);
	atomic_init(&modes->on, false);
	return modes;
}

void read_modes_free(struct read_modes *modes)
{
	if (!modes)
		return;
	while (modes->first) {
		struct read_mode *next = modes->first->next;

		free(modes->first);
		modes->first = next;
	}
	pthread_cond_destroy(&modes->decided);
	pthread_mutex_destroy(&modes->lock);
	free(modes);
}

void read_modes_begin(struct read_modes *modes, void (*give_back)(void *context, int number),
		      void *context)
{
	modes->give_back = give_back;
	modes->context = context;
	atomic_store(&modes->on, true);
}

void read_modes_end(struct read_modes *modes)
{
	atomic_store(&modes->on, false);
}

bool read_modes_on(const struct read_modes *modes)
{
	return atomic_load(&modes->on);
}

/* The caller holds the lock. */
static struct read_mode *find_mode(const struct read_modes *modes, uint64_t ino)
{
	struct read_mode *mode = modes->first;

	while (mode && mode->ino != ino)
		mode = mode->next;
	return mode;
}

struct read_mode *read_modes_enter(struct read_modes *modes, uint64_t ino)
{
	struct read_mode *mode;

	pthread_mutex_lock(&modes->lock);
	mode = find_mode(modes, ino);
	if (!mode) {
		mode = calloc(1, sizeof(*mode));
		if (mode) {
			mode->ino = ino;
			mode->next = modes->first;
			modes->first = mode;
		}
	}
	if (mode)
		mode->users++;
	pthread_mutex_unlock(&modes->lock);
	return mode;
}

/* Remove a mode from the list, with the lock held. Returns the kernel's number, to give back. */
static int drop(struct read_modes *modes, struct read_mode *mode)
{
	struct read_mode **link = &modes->first;
	const int number = mode->number;

	while (*link != mode)
		link = &(*link)->next;
	*link = mode->next;
	free(mode);
	return number;
}

/* Gives the number back without the lock: the kernel may then have to remove the file. */
void read_mode_leave(struct read_modes *modes, struct read_mode *mode)
{
	int number = 0;

	if (!mode)
		return;
	pthread_mutex_lock(&modes->lock);
	if (--mode->users == 0)
		number = drop(modes, mode);
	pthread_mutex_unlock(&modes->lock);
	if (number > 0 && read_modes_on(modes))
		modes->give_back(modes->context, number);
}

/* Wait for another thread's decision, with the lock held. Returns 0 or -EINTR. */
static int wait_for_decision(struct read_modes *modes, const struct read_mode *mode,
			     const atomic_bool *stop)
{
	while (mode->state == DECIDING) {
		struct timespec until;

		if (stop && atomic_load(stop))
			return -EINTR;
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += TICK_NS;
		if (until.tv_nsec >= 1000000000L) {
			until.tv_nsec -= 1000000000L;
			until.tv_sec++;
		}
		pthread_cond_timedwait(&modes->decided, &modes->lock, &until);
	}
	return 0;
}

/* Decide with the lock held, but released while find() runs. */
static int decide(struct read_modes *modes, struct read_mode *mode, read_mode_find *find,
		  void *context, const atomic_bool *stop)
{
	enum read_way way = READ_BY_DAEMON;
	int number = 0;

	if (find) {
		mode->state = DECIDING;
		pthread_mutex_unlock(&modes->lock);
		number = find(context, stop, &way);
		pthread_mutex_lock(&modes->lock);
	}
	mode->state = number < 0 ? UNDECIDED : DECIDED;
	mode->way = number > 0 ? way : READ_BY_DAEMON;
	mode->number = number > 0 ? number : 0;
	pthread_cond_broadcast(&modes->decided);
	return number;
}

int read_mode_choose(struct read_modes *modes, struct read_mode *mode, read_mode_find *find,
		     void *context, const atomic_bool *stop)
{
	int rc;

	pthread_mutex_lock(&modes->lock);
	rc = wait_for_decision(modes, mode, stop);
	if (rc == 0)
		rc = mode->state == DECIDED ? mode->number
					    : decide(modes, mode, find, context, stop);
	pthread_mutex_unlock(&modes->lock);
	return rc;
}

bool read_modes_way(struct read_modes *modes, uint64_t ino, enum read_way *way)
{
	const struct read_mode *mode;
	bool decided;

	pthread_mutex_lock(&modes->lock);
	mode = find_mode(modes, ino);
	decided = mode && mode->state == DECIDED;
	if (decided)
		*way = mode->way;
	pthread_mutex_unlock(&modes->lock);
	return decided;
}
