/* SPDX-License-Identifier: MIT */
/* handles.c - see handles.h. */
#include "fs/handles.h"

#include <pthread.h>
#include <stdlib.h>

struct handles {
	struct nodes *nodes;
	pthread_mutex_t lock; /* protects first, and in a handle what it says there */
	struct handle *first;
};

struct handles *handles_new(struct nodes *nodes)
{
	struct handles *handles = calloc(1, sizeof(*handles));

	if (!handles)
		return NULL;
	handles->nodes = nodes;
	pthread_mutex_init(&handles->lock, NULL);
	return handles;
}

void handles_free(struct handles *handles)
{
	if (!handles)
		return;
	while (handles->first)
		handles_close(handles, handles->first);
	pthread_mutex_destroy(&handles->lock);
	free(handles);
}

static bool is_writer(const struct handle *handle)
{
	return handle->node->stage && handle->writes;
}

static uint64_t busy_of(uint64_t owner)
{
	return owner <= HANDLE_BUSY ? HANDLE_BUSY : owner;
}

void handle_begin(struct handle *handle, uint64_t owner)
{
	if (is_writer(handle) && atomic_exchange(&handle->busy, busy_of(owner)) == 0)
		stage_begin(handle->node->stage);
}

bool handle_end(struct handle *handle, uint64_t owner)
{
	uint_fast64_t busy = atomic_load(&handle->busy);

	if (!is_writer(handle) || (busy > HANDLE_BUSY && busy != busy_of(owner)))
		return false;
	/* The process may write on another thread at this moment: then it is still busy. */
	if (busy && !atomic_compare_exchange_strong(&handle->busy, &busy, 0))
		return false;
	return busy ? stage_end(handle->node->stage) == 0 : stage_busy(handle->node->stage) == 0;
}

bool handle_release(struct handle *handle)
{
	return handle_end(handle, atomic_load(&handle->busy));
}

struct handle *handles_open(struct handles *handles, struct node *node, struct view *view,
			    bool writes)
{
	struct handle *handle = calloc(1, sizeof(*handle));

	if (!handle)
		return NULL;
	handle->node = node;
	handle->view = view;
	handle->writes = writes;
	atomic_init(&handle->busy, 0);
	if (node->stage)
		stage_open(node->stage);
	handle_begin(handle, HANDLE_BUSY);
	pthread_mutex_lock(&handles->lock);
	handle->next = handles->first;
	handle->link = &handles->first;
	if (handle->next)
		handle->next->link = &handle->next;
	handles->first = handle;
	pthread_mutex_unlock(&handles->lock);
	return handle;
}

void handles_close(struct handles *handles, struct handle *handle)
{
	pthread_mutex_lock(&handles->lock);
	*handle->link = handle->next;
	if (handle->next)
		handle->next->link = handle->link;
	pthread_mutex_unlock(&handles->lock);
	handle_release(handle);
	if (handle->node->stage)
		stage_close(handle->node->stage);
	nodes_put(handles->nodes, handle->node);
	view_unref(handle->view);
	words_free(handle->words);
	free(handle);
}
