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

struct handle *handles_open(struct handles *handles, struct node *node, struct view *view)
{
	struct handle *handle = calloc(1, sizeof(*handle));

	if (!handle)
		return NULL;
	handle->node = node;
	handle->view = view;
	if (node->stage)
		stage_open(node->stage);
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
	if (handle->node->stage)
		stage_close(handle->node->stage);
	nodes_put(handles->nodes, handle->node);
	view_unref(handle->view);
	free(handle);
}
