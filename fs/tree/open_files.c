/* SPDX-License-Identifier: MIT */
/* open_files.c - see open_files.h. */
#include "fs/tree/open_files.h"
#include "fs/edit/stage.h"
#include "fs/paths/proc_fds.h"
#include "fs/storage/page_trail.h"
#include "fs/storage/view.h"
#include "fs/tree/family.h"
#include "fs/tree/read_modes.h"
#include "fs/tree/undo_words.h"
#include "fs/util/process.h"

#include <pthread.h>
#include <stdlib.h>

struct open_files {
	struct inodes *inodes;
	struct read_modes *modes;
	dev_t device;
	pthread_mutex_t lock; /* protects what follows, and in a handle what it says there */
	struct open_file *first;
	unsigned n_grown;
	uint64_t *mapped; /* inodes by which a writer without a name could make shared maps */
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

void open_files_set_device(struct open_files *handles, dev_t device)
{
	handles->device = device;
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

void open_file_begin(struct open_file *handle, uint64_t owner, pid_t thread)
{
	struct stage *stage = handle->inode->stage;

	if (handle->writes && holders_write(&handle->holders, owner, thread) && stage)
		stage_begin(stage);
}

/* Is no writer held any more? */
static bool is_last(const struct open_file *handle, enum holders_left left)
{
	struct stage *stage = handle->inode->stage;

	if (left == HOLDERS_SOME || !stage)
		return left != HOLDERS_SOME;
	return left == HOLDERS_NONE ? stage_end(stage) == 0 : stage_busy(stage) == 0;
}

static unsigned count_others(struct open_files *handles, const struct open_file *handle)
{
	unsigned n = 0;

	pthread_mutex_lock(&handles->lock);
	for (struct open_file *other = handles->first; other; other = other->next)
		n += other != handle && other->writes && other->shown == handle->shown;
	pthread_mutex_unlock(&handles->lock);
	return n;
}

/* Does the process, which has closed a descriptor of the file, have another one? /proc does not
 * tell of which open file one is: each other writer may have one there. */
static bool has_another(struct open_files *handles, const struct open_file *handle, pid_t process)
{
	const int n = proc_fds_count_writers(process, handles->device, handle->shown);

	return n > 0 && (unsigned)n > count_others(handles, handle);
}

bool open_files_end(struct open_files *handles, struct open_file *handle, uint64_t owner,
		    pid_t thread)
{
	enum holder_part part;
	pid_t process = 0;

	if (!handle->writes)
		return false;
	part = holders_part(&handle->holders, owner, 0);
	if (part == HOLDER_NONE) {
		process = process_of(thread);
		part = holders_part(&handle->holders, owner, process);
	}
	if (part == HOLDER_OPENED && has_another(handles, handle, process))
		return false;
	return is_last(handle, holders_close(&handle->holders, owner, process));
}

bool open_file_release(struct open_file *handle)
{
	return handle->writes && is_last(handle, holders_clear(&handle->holders));
}

/* With the lock held. */
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

/* With the lock held. */
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
	holders_init(&handle->holders);
	atomic_init(&handle->emptied, false);
	handle->shown = family_shown_number(inode);
	if (inode->stage)
		stage_open(inode->stage);
	if (writes && holders_open(&handle->holders, process_of(thread)) && inode->stage)
		stage_begin(inode->stage);
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
	struct inode *shown;

	pthread_mutex_lock(&handles->lock);
	if (note_mapped(handles, readers))
		handle = handle_new(inode, view, true, thread);
	shown = handle ? inodes_get(handles->inodes, readers) : NULL;
	if (shown)
		handle->shown = family_shown_number(shown);
	inodes_put(handles->inodes, shown);
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
	undo_words_free(handle->words);
	holders_release(&handle->holders);
	free(handle);
}
