/* SPDX-License-Identifier: MIT */
/* holders.c - see holders.h. */
#include "fs/tree/holders.h"
#include "fs/util/process.h"

#include <string.h>

void holders_init(struct holders *holders)
{
	memset(holders, 0, sizeof(*holders));
	atomic_init(&holders->owner, 0);
	atomic_init(&holders->thread, 0);
	pthread_mutex_init(&holders->lock, NULL);
}

void holders_release(struct holders *holders)
{
	pthread_mutex_destroy(&holders->lock);
}

/* With the lock held. */
static bool is_busy(const struct holders *holders)
{
	bool busy = holders->unknown || (holders->fresh && holders->n);

	for (unsigned i = 0; i < holders->n; i++)
		busy |= holders->known[i].wrote;
	return busy;
}

static bool is_same(const struct holder *known, uint64_t owner, pid_t process)
{
	return (owner && known->owner == owner) || (process && known->process == process);
}

/* With the lock held. */
static struct holder *find(struct holders *holders, uint64_t owner, pid_t process)
{
	for (unsigned i = 0; i < holders->n; i++) {
		if (is_same(&holders->known[i], owner, process))
			return &holders->known[i];
	}
	return NULL;
}

/* With the lock held. */
static void enter(struct holders *holders, const struct holder *new)
{
	struct holder *known = find(holders, new->owner, new->process);

	if (known) {
		known->owner = new->owner ? new->owner : known->owner;
		known->process = known->process ? known->process : new->process;
		known->wrote |= new->wrote;
	} else if (!new->owner && !new->process) {
		holders->unknown |= !is_busy(holders);
	} else if (holders->n == HOLDERS_KNOWN) {
		holders->unknown = true;
	} else {
		holders->known[holders->n++] = *new;
	}
}

bool holders_open(struct holders *holders, pid_t process)
{
	const struct holder new = { .process = process };
	bool first;

	pthread_mutex_lock(&holders->lock);
	first = !is_busy(holders);
	enter(holders, &new);
	holders->fresh = true;
	pthread_mutex_unlock(&holders->lock);
	return first;
}

bool holders_write(struct holders *holders, uint64_t owner, pid_t thread)
{
	struct holder new = { .owner = owner, .wrote = true };
	bool first;

	if (owner ? atomic_load(&holders->owner) == owner
		  : thread && atomic_load(&holders->thread) == thread)
		return false;
	new.process = process_of(thread);
	pthread_mutex_lock(&holders->lock);
	first = !is_busy(holders);
	enter(holders, &new);
	atomic_store(&holders->owner, owner);
	atomic_store(&holders->thread, thread);
	pthread_mutex_unlock(&holders->lock);
	return first;
}

/* With the lock held. */
static void forget_last(struct holders *holders)
{
	atomic_store(&holders->owner, 0);
	atomic_store(&holders->thread, 0);
}

/* With the lock held: the one with that owner, or of that process, goes; and those that are no
 * more, where they can be seen. */
static void leave(struct holders *holders, uint64_t owner, pid_t process)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < holders->n; i++) {
		const struct holder *known = &holders->known[i];

		if (!is_same(known, owner, process) &&
		    (!known->process || process_is_there(known->process)))
			holders->known[kept++] = *known;
	}
	holders->n = kept;
}

enum holder_part holders_part(struct holders *holders, uint64_t owner, pid_t process)
{
	enum holder_part part = HOLDER_NONE;
	const struct holder *known;

	pthread_mutex_lock(&holders->lock);
	known = find(holders, owner, process);
	if (known)
		part = known->wrote ? HOLDER_WROTE : HOLDER_OPENED;
	pthread_mutex_unlock(&holders->lock);
	return part;
}

enum holders_left holders_close(struct holders *holders, uint64_t owner, pid_t process)
{
	enum holders_left left = HOLDERS_NONE_BEFORE;

	pthread_mutex_lock(&holders->lock);
	if (is_busy(holders))
		left = HOLDERS_SOME;
	forget_last(holders);
	holders->unknown = false;
	holders->fresh = holders->fresh && !find(holders, owner, process);
	leave(holders, owner, process);
	if (left == HOLDERS_SOME && !is_busy(holders))
		left = HOLDERS_NONE;
	pthread_mutex_unlock(&holders->lock);
	return left;
}

enum holders_left holders_clear(struct holders *holders)
{
	enum holders_left left;

	pthread_mutex_lock(&holders->lock);
	left = is_busy(holders) ? HOLDERS_NONE : HOLDERS_NONE_BEFORE;
	forget_last(holders);
	holders->n = 0;
	holders->unknown = holders->fresh = false;
	pthread_mutex_unlock(&holders->lock);
	return left;
}
