/* SPDX-License-Identifier: MIT */
/* pollers.c - see pollers.h. */
#include "fs/fuse/pollers.h"
#include "fs/fuse/ops.h"
#include "fs/mount/mount.h"
#include "fs/tree/open_files.h"

/* Call with the lock held. */
static void drop(struct poller *poller)
{
	fuse_pollhandle_destroy(poller->handle);
	poller->handle = NULL;
	*poller->link = poller->next;
	if (poller->next)
		poller->next->link = poller->link;
}

void pollers_add(struct pollers *pollers, struct poller *poller, struct fuse_pollhandle *handle)
{
	pthread_mutex_lock(&pollers->lock);
	if (poller->handle)
		drop(poller);
	poller->handle = handle;
	poller->next = pollers->first;
	poller->link = &pollers->first;
	if (poller->next)
		poller->next->link = &poller->next;
	pollers->first = poller;
	pthread_mutex_unlock(&pollers->lock);
}

void pollers_remove(struct pollers *pollers, struct poller *poller)
{
	pthread_mutex_lock(&pollers->lock);
	if (poller->handle)
		drop(poller);
	pthread_mutex_unlock(&pollers->lock);
}

void pollers_tell(struct pollers *pollers)
{
	pthread_mutex_lock(&pollers->lock);
	while (pollers->first) {
		fuse_lowlevel_notify_poll(pollers->first->handle);
		drop(pollers->first);
	}
	pthread_mutex_unlock(&pollers->lock);
}

void pollers_clear(struct pollers *pollers)
{
	pthread_mutex_lock(&pollers->lock);
	while (pollers->first)
		drop(pollers->first);
	pthread_mutex_unlock(&pollers->lock);
}
