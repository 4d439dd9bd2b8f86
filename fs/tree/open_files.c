/* SPDX-License-Identifier: MIT */
/* handles.c - see handles.h. */
#include "fs/tree/open_files.h"

#include <pthread.h>
#include <stdlib.h>

struct handles {
	struct nodes *nodes;
	pthread_mutex_t lock; /* protects what follows, and in a handle what it says there */
	struct handle *first;
	unsigned n_grown;
	uint64_t *mapped; /* inodes by which a writer without a name could make shared maps */
	size_t n_mapped;
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
	free(handles->mapped);
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

/* With the lock held. */
static bool is_mapped(const struct handles *handles, uint64_t ino)
{
	size_t i = 0;

	while (i < handles->n_mapped && handles->mapped[i] != ino)
		i++;
	return i < handles->n_mapped;
}

static bool note_mapped(struct handles *handles, uint64_t ino)
{
	uint64_t *more;

	if (is_mapped(handles, ino))
		return true;
	more = reallocarray(handles->mapped, handles->n_mapped + 1, sizeof(*more));
	if (!more)
		return false;
	more[handles->n_mapped++] = ino;
	handles->mapped = more;
	return true;
}

static bool is_grown(const struct handles *handles, uint64_t ino)
{
	const struct handle *handle = handles->n_grown ? handles->first : NULL;

	while (handle && !(handle->grown && handle->nameless == ino))
		handle = handle->next;
	return handle != NULL;
}

/* With the lock held. */
static void enter(struct handles *handles, struct handle *handle)
{
	handle->next = handles->first;
	handle->link = &handles->first;
	if (handle->next)
		handle->next->link = &handle->next;
	handles->first = handle;
}

static struct handle *handle_new(struct node *node, struct view *view, bool writes)
{
	struct handle *handle = calloc(1, sizeof(*handle));

	if (!handle)
		return NULL;
	handle->node = node;
	handle->view = view;
	handle->writes = writes;
	atomic_init(&handle->busy, 0);
	atomic_init(&handle->emptied, false);
	if (node->stage)
		stage_open(node->stage);
	handle_begin(handle, HANDLE_BUSY);
	return handle;
}

struct handle *handles_open(struct handles *handles, struct node *node, struct view *view,
			    bool writes)
{
	struct handle *handle = handle_new(node, view, writes);

	if (!handle)
		return NULL;
	pthread_mutex_lock(&handles->lock);
	handle->direct = is_grown(handles, node->ino);
	handle->fresh = is_mapped(handles, node->ino);
	enter(handles, handle);
	pthread_mutex_unlock(&handles->lock);
	return handle;
}

struct handle *handles_open_nameless(struct handles *handles, struct node *node, struct view *view,
				     uint64_t readers, pid_t thread)
{
	struct handle *handle = NULL;

	pthread_mutex_lock(&handles->lock);
	if (note_mapped(handles, readers))
		handle = handle_new(node, view, true);
	if (handle) {
		handle->nameless = readers;
		handle->thread = thread;
		handle->direct = true;
		enter(handles, handle);
	}
	pthread_mutex_unlock(&handles->lock);
	return handle;
}

struct node *handles_nameless(struct handles *handles, uint64_t readers, pid_t thread)
{
	struct node *node = NULL;

	pthread_mutex_lock(&handles->lock);
	for (struct handle *handle = handles->first; handle && !node; handle = handle->next)
		if (handle->nameless == readers && handle->thread == thread)
			node = nodes_get(handles->nodes, handle->node->ino);
	pthread_mutex_unlock(&handles->lock);
	return node;
}

bool handles_may_reach(struct handles *handles, struct handle *handle, uint64_t end)
{
	bool may = true;

	if (end <= view_size(handle->view))
		return true;
	pthread_mutex_lock(&handles->lock);
	for (struct handle *other = handles->first; other && may; other = other->next)
		may = other->direct || other->node->ino != handle->nameless;
	if (may && !handle->grown) {
		handle->grown = true;
		handles->n_grown++;
	}
	pthread_mutex_unlock(&handles->lock);
	return may;
}

void handles_close(struct handles *handles, struct handle *handle)
{
	pthread_mutex_lock(&handles->lock);
	*handle->link = handle->next;
	if (handle->next)
		handle->next->link = handle->link;
	if (handle->grown)
		handles->n_grown--;
	pthread_mutex_unlock(&handles->lock);
	handle_release(handle);
	if (handle->node->stage)
		stage_close(handle->node->stage);
	nodes_put(handles->nodes, handle->node);
	view_unref(handle->view);
	words_free(handle->words);
	free(handle);
}
