/* SPDX-License-Identifier: MIT */
/* fresh_directories.c - see fresh_directories.h. */
#include "fs/tree/fresh_directories.h"
#include "fs/util/process.h"

#include <pthread.h>
#include <stdlib.h>

#define KEPT 16

struct fresh_directories {
	pthread_mutex_t lock; /* protects what follows */
	struct {
		uint64_t directory;
		pid_t process;
	} made[KEPT]; /* a ring */
	unsigned next;
};

struct fresh_directories *fresh_directories_new(void)
{
	struct fresh_directories *fresh = calloc(1, sizeof(*fresh));

	if (fresh)
		pthread_mutex_init(&fresh->lock, NULL);
	return fresh;
}

void fresh_directories_free(struct fresh_directories *fresh)
{
	if (fresh)
		pthread_mutex_destroy(&fresh->lock);
	free(fresh);
}

void fresh_directories_add(struct fresh_directories *fresh, uint64_t directory, pid_t thread)
{
	const pid_t process = process_of(thread);

	pthread_mutex_lock(&fresh->lock);
	fresh->made[fresh->next].directory = directory;
	fresh->made[fresh->next].process = process;
	fresh->next = (fresh->next + 1) % KEPT;
	pthread_mutex_unlock(&fresh->lock);
}

bool fresh_directories_has(struct fresh_directories *fresh, uint64_t directory, pid_t thread)
{
	pid_t process = 0;

	pthread_mutex_lock(&fresh->lock);
	for (unsigned i = 0; i < KEPT; i++)
		if (fresh->made[i].directory == directory)
			process = fresh->made[i].process;
	pthread_mutex_unlock(&fresh->lock);
	return process != 0 && process == process_of(thread);
}
