/* SPDX-License-Identifier: MIT */
/* open_files.c - see open_files.h. */
#include "fs/tree/open_files.h"
#include "fs/edit/stage.h"
#include "fs/storage/page_trail.h"
#include "fs/storage/view.h"
#include "fs/tree/inodes.h"
#include "fs/tree/read_modes.h"
#include "fs/tree/written_words.h"
#include "fs/util/process.h"

#include <pthread.h>
#include <stdlib.h>

struct open_files {
	struct inodes *inodes;
	struct read_modes *modes;
	pthread_mutex_t lock; /* protects the fields below, and the list's fields in handles */
	struct open_file *first;
	unsigned n_grown;
	uint64_t *mapped; /* inodes by which nameless writers may have shared maps */
	size_t n_mapped;
};

struct open_files *open_files_new(struct inodes *inodes, struct read_modes *modes)
{
	struct open_files *handles = calloc(1, sizeof(*handles));

	if (!handles)
		return NULL;
	handles->inodes = inodes;
	handles->modes = modes;
	pthread_mutex_init(&handles->lock, NULL);
	return handles;
}

void open_files_free(struct open_files *handles)
{
	if (!handles)
		return;
	while (handles->first)
		open_files_close(handles, handles->first);
	pthread_mutex_destroy(&handles->lock);
	free(handles->mapped);
	free(handles);
}

/* The caller holds the writer's lock. */
static void make_busy(struct open_file *handle)
{
	if (!handle->writer.busy && handle->inode->stage)
		stage_add_writer(handle->inode->stage);
	handle->writer.busy = true;
}

void open_file_record_write(struct open_file *handle, uint64_t owner, pid_t thread)
{
	struct last_writer *writer = &handle->writer;
	bool same;

	if (!handle->writes)
		return;
	pthread_mutex_lock(&writer->lock);
	same = owner ? owner == writer->owner : !thread || thread == writer->thread;
	if (!same) {
		const pid_t process = process_of(thread);

		if (owner || process) {
			writer->owner = owner;
			writer->process = process;
		}
		writer->thread = thread;
	} else if (!owner && !thread && !writer->busy) {
		writer->owner = 0;
		writer->process = writer->opener;
		writer->thread = 0;
	}
	make_busy(handle);
	pthread_mutex_unlock(&writer->lock);
}

/* The caller holds the writer's lock. */
static bool is_writer(const struct last_writer *writer, uint64_t owner, pid_t thread)
{
	if (!writer->owner && !writer->process)
		return true;
	return (owner && owner == writer->owner) ||
	       (writer->process && process_of(thread) == writer->process);
}

/* Mark the handle as not busy, with the writer's lock held. Returns true if no other handle of the
 * stage is busy. */
static bool end(struct open_file *handle)
{
	struct stage *stage = handle->inode->stage;
	const bool busy = handle->writer.busy;

	handle->writer.busy = false;
	return !stage || (busy ? stage_remove_writer(stage) : stage_writers(stage)) == 0;
}

bool open_file_record_close(struct open_file *handle, uint64_t owner, pid_t thread)
{
	bool last;

	if (!handle->writes)
		return false;
	pthread_mutex_lock(&handle->writer.lock);
	last = is_writer(&handle->writer, owner, thread) && end(handle);
	pthread_mutex_unlock(&handle->writer.lock);
	return last;
}

bool open_file_release(struct open_file *handle)
{
	bool last;

	if (!handle->writes)
		return false;
	pthread_mutex_lock(&handle->writer.lock);
	last = end(handle);
	pthread_mutex_unlock(&handle->writer.lock);
	return last;
}

/* The caller holds the lock. */
static bool is_mapped(const struct open_files *handles, uint64_t ino)
{
	size_t i = 0;

	while (i < handles->n_mapped && handles->mapped[i] != ino)
		i++;
	return i < handles->n_mapped;
}

static bool note_mapped(struct open_files *handles, uint64_t ino)
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

static bool is_grown(const struct open_files *handles, uint64_t ino)
{
	const struct open_file *handle = handles->n_grown ? handles->first : NULL;

	while (handle && !(handle->grown && handle->nameless == ino))
		handle = handle->next;
	return handle != NULL;
}

/* The caller holds the lock. */
static void enter(struct open_files *handles, struct open_file *handle)
{
	handle->next = handles->first;
	handle->link = &handles->first;
	if (handle->next)
		handle->next->link = &handle->next;
	handles->first = handle;
}

static struct open_file *handle_new(struct inode *inode, struct view *view, bool writes,
				    pid_t thread)
{
	struct open_file *handle = calloc(1, sizeof(*handle));

	if (!handle)
		return NULL;
	handle->inode = inode;
	handle->view = view;
	handle->writes = writes;
	handle->trail = view && !writes ? page_trail_new(view) : NULL;
	pthread_mutex_init(&handle->writer.lock, NULL);
	atomic_init(&handle->emptied, false);
	if (inode->stage)
		stage_open(inode->stage);
	if (writes) {
		handle->writer.process = handle->writer.opener = process_of(thread);
		make_busy(handle);
	}
	return handle;
}

struct open_file *open_files_add(struct open_files *handles, struct inode *inode, struct view *view,
				 bool writes, pid_t thread)
{
	struct open_file *handle = handle_new(inode, view, writes, thread);

	if (!handle)
		return NULL;
	pthread_mutex_lock(&handles->lock);
	handle->direct = is_grown(handles, inode->ino);
	handle->fresh = is_mapped(handles, inode->ino);
	enter(handles, handle);
	pthread_mutex_unlock(&handles->lock);
	return handle;
}

struct open_file *open_files_add_nameless(struct open_files *handles, struct inode *inode,
					  struct view *view, uint64_t readers, pid_t thread)
{
	struct open_file *handle = NULL;

	pthread_mutex_lock(&handles->lock);
	if (note_mapped(handles, readers))
		handle = handle_new(inode, view, true, thread);
	if (handle) {
		handle->nameless = readers;
		handle->thread = thread;
		handle->direct = true;
		enter(handles, handle);
	}
	pthread_mutex_unlock(&handles->lock);
	return handle;
}

struct inode *open_files_find_nameless(struct open_files *handles, uint64_t readers, pid_t thread)
{
	struct inode *inode = NULL;

	pthread_mutex_lock(&handles->lock);
	for (struct open_file *handle = handles->first; handle && !inode; handle = handle->next)
		if (handle->nameless == readers && handle->thread == thread)
			inode = inodes_get(handles->inodes, handle->inode->ino);
	pthread_mutex_unlock(&handles->lock);
	return inode;
}

bool open_files_may_write_to(struct open_files *handles, struct open_file *handle, uint64_t end)
{
	bool may = true;

	if (end <= view_size(handle->view))
		return true;
	pthread_mutex_lock(&handles->lock);
	for (struct open_file *other = handles->first; other && may; other = other->next)
		may = other->direct || other->inode->ino != handle->nameless;
	if (may && !handle->grown) {
		handle->grown = true;
		handles->n_grown++;
	}
	pthread_mutex_unlock(&handles->lock);
	return may;
}

void open_files_close(struct open_files *handles, struct open_file *handle)
{
	pthread_mutex_lock(&handles->lock);
	*handle->link = handle->next;
	if (handle->next)
		handle->next->link = handle->link;
	if (handle->grown)
		handles->n_grown--;
	pthread_mutex_unlock(&handles->lock);
	open_file_release(handle);
	if (handle->inode->stage)
		stage_close(handle->inode->stage);
	read_mode_leave(handles->modes, handle->mode);
	inodes_put(handles->inodes, handle->inode);
	page_trail_unref(handle->trail);
	view_unref(handle->view);
	written_words_free(handle->words);
	pthread_mutex_destroy(&handle->writer.lock);
	free(handle);
}
