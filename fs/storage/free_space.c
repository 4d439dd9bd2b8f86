/* SPDX-License-Identifier: MIT */
/* free_space.c - see free_space.h. The owner and the querying thread each hold a reference. */
#include "fs/storage/free_space.h"
#include "fs/storage/backing.h"
#include "fs/util/clock.h"
#include "fs/util/cond_poll.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct free_space {
	struct backing *base;
	char *directory;
	atomic_uint holders;
	pthread_mutex_t lock; /* protects the members below */
	pthread_cond_t answered;
	bool asking;
	bool silent; /* a call timed out on this query, so others do not wait for it */
	int rc;
	struct statvfs room;
};

static int ask(const struct free_space *space, struct statvfs *room)
{
	struct backing *file = backing_first_readable(space->base);
	const int fd = file ? backing_fd_get(file) : -1;
	const int rc = fd < 0 ? statvfs(space->directory, room) : fstatvfs(fd, room);
	const int code = errno;

	if (fd >= 0)
		backing_fd_put(file);
	return rc < 0 ? -code : 0;
}

void free_space_free(struct free_space *space)
{
	if (!space || atomic_fetch_sub(&space->holders, 1) != 1)
		return;
	pthread_cond_destroy(&space->answered);
	pthread_mutex_destroy(&space->lock);
	backing_unref(space->base);
	free(space->directory);
	free(space);
}

struct free_space *free_space_new(struct backing *base, const char *directory)
{
	struct free_space *space = calloc(1, sizeof(*space));

	if (!space || !(space->directory = strdup(directory))) {
		free(space);
		return NULL;
	}
	space->base = backing_ref(base);
	atomic_init(&space->holders, 1);
	pthread_mutex_init(&space->lock, NULL);
	cond_poll_init(&space->answered);
	space->rc = ask(space, &space->room);
	return space;
}

static void *work(void *argument)
{
	struct free_space *space = argument;
	struct statvfs room = { 0 };
	const int rc = ask(space, &room);

	pthread_mutex_lock(&space->lock);
	space->rc = rc;
	if (rc == 0)
		space->room = room;
	space->asking = space->silent = false;
	pthread_cond_broadcast(&space->answered);
	pthread_mutex_unlock(&space->lock);
	free_space_free(space);
	return NULL;
}

/* Start a query, with the lock held. If no thread can be started, the last answer stays. */
static void start(struct free_space *space)
{
	pthread_attr_t detached;
	pthread_t thread;

	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&thread, &detached, work, space) == 0) {
		space->asking = true;
		atomic_fetch_add(&space->holders, 1);
	}
	pthread_attr_destroy(&detached);
}

int free_space_get(struct free_space *space, struct statvfs *room)
{
	const struct timespec until = clock_in(FREE_SPACE_TIMEOUT_MS);
	int rc = 0;

	pthread_mutex_lock(&space->lock);
	if (!space->asking)
		start(space);
	while (rc == 0 && space->asking && !space->silent)
		rc = pthread_cond_timedwait(&space->answered, &space->lock, &until);
	space->silent = space->asking;
	*room = space->room;
	rc = space->rc;
	pthread_mutex_unlock(&space->lock);
	return rc;
}
