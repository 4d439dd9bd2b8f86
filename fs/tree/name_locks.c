/* SPDX-License-Identifier: MIT */
/* name_locks.c - see name_locks.h. A list, because few threads change names at a time. */
#include "fs/tree/name_locks.h"

#include <pthread.h>
#include <stdlib.h>

struct name_locks {
	pthread_mutex_t lock; /* protects the fields below; held for moments */
	struct name_lock *first;
	pthread_cond_t released;
};

struct name_locks *name_locks_new(void)
{
	struct name_locks *locks = calloc(1, sizeof(*locks));

	if (!locks)
		return NULL;
	pthread_mutex_init(&locks->lock, NULL);
	pthread_cond_init(&locks->released, NULL);
	return locks;
}

void name_locks_free(struct name_locks *locks)
{
	if (!locks)
		return;
	pthread_cond_destroy(&locks->released);
	pthread_mutex_destroy(&locks->lock);
	free(locks);
}

/* The caller holds the lock. */
static bool is_taken(const struct name_locks *locks, const struct file_name *name)
{
	const struct name_lock *lock = locks->first;

	while (lock && !file_name_is(&lock->names[0], name) && !file_name_is(&lock->names[1], name))
		lock = lock->next;
	return lock != NULL;
}

void name_locks_take(struct name_locks *locks, struct name_lock *lock)
{
	pthread_mutex_lock(&locks->lock);
	while (is_taken(locks, &lock->names[0]) || is_taken(locks, &lock->names[1]))
		pthread_cond_wait(&locks->released, &locks->lock);
	lock->next = locks->first;
	locks->first = lock;
	pthread_mutex_unlock(&locks->lock);
}

void name_locks_release(struct name_locks *locks, struct name_lock *lock)
{
	struct name_lock **link = &locks->first;

	pthread_mutex_lock(&locks->lock);
	while (*link != lock)
		link = &(*link)->next;
	*link = lock->next;
	pthread_cond_broadcast(&locks->released);
	pthread_mutex_unlock(&locks->lock);
}
