/* SPDX-License-Identifier: MIT */
/* reply_buffers.c - see reply_buffers.h. A free buffer's first bytes link to the next free one. */
#include "fs/mount/reply_buffers.h"

#include <pthread.h>
#include <stdlib.h>

struct idle {
	struct idle *next;
};

struct reply_buffers {
	pthread_mutex_t lock; /* protects idle */
	struct idle *idle;
};

struct reply_buffers *reply_buffers_new(void)
{
	struct reply_buffers *buffers = calloc(1, sizeof(*buffers));

	if (buffers)
		pthread_mutex_init(&buffers->lock, NULL);
	return buffers;
}

void reply_buffers_free(struct reply_buffers *buffers)
{
	if (!buffers)
		return;
	while (buffers->idle) {
		struct idle *next = buffers->idle->next;

		free(buffers->idle);
		buffers->idle = next;
	}
	pthread_mutex_destroy(&buffers->lock);
	free(buffers);
}

void *reply_buffers_get(struct reply_buffers *buffers)
{
	struct idle *buffer;

	pthread_mutex_lock(&buffers->lock);
	buffer = buffers->idle;
	if (buffer)
		buffers->idle = buffer->next;
	pthread_mutex_unlock(&buffers->lock);
	return buffer ? buffer : aligned_alloc(4096, REPLY_BUFFER_SIZE);
}

void reply_buffers_put(struct reply_buffers *buffers, void *buffer)
{
	struct idle *idle = buffer;

	if (!idle)
		return;
	pthread_mutex_lock(&buffers->lock);
	idle->next = buffers->idle;
	buffers->idle = idle;
	pthread_mutex_unlock(&buffers->lock);
}
