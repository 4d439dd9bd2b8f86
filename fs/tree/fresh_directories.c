/* SPDX-License-Identifier: MIT */
/* fresh_directories.c - see fresh_directories.h. */
#include "fs/tree/fresh_directories.h"
#include "fs/util/process.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define KEPT 16

struct filled {
	uint64_t directory;
	pid_t process;
	bool all; /* all names are hidden, not only those of θ files */
};

struct fresh_directories {
	pthread_mutex_t lock;	    /* protects the fields below */
	struct filled filled[KEPT]; /* ring buffer */
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

void fresh_directories_add(struct fresh_directories *fresh, uint64_t directory, bool all,
			   pid_t thread)
{
	const struct filled filled = { directory, process_of(thread), all };
	bool is_new = true;

	pthread_mutex_lock(&fresh->lock);
	for (unsigned i = 0; i < KEPT; i++)
		is_new &= fresh->filled[i].directory != directory ||
			  fresh->filled[i].process != filled.process;
	if (is_new)
		fresh->filled[fresh->next++ % KEPT] = filled;
	pthread_mutex_unlock(&fresh->lock);
}

static bool is_theta(const char *name)
{
	const char *ending = strrchr(name, '.');

	return ending && strcmp(ending, ".theta") == 0;
}

bool fresh_directories_has(struct fresh_directories *fresh, uint64_t directory, const char *name,
			   pid_t thread)
{
	struct filled filled[KEPT];
	pid_t process = 0;

	pthread_mutex_lock(&fresh->lock);
	memcpy(filled, fresh->filled, sizeof(filled));
	pthread_mutex_unlock(&fresh->lock);
	for (unsigned i = 0; i < KEPT; i++) {
		if (filled[i].directory != directory || !(filled[i].all || is_theta(name)))
			continue;
		if (process == 0)
			process = process_of(thread);
		if (process != 0 && filled[i].process == process)
			return true;
	}
	return false;
}
