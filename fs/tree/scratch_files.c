/* SPDX-License-Identifier: MIT */
/* scratch_files.c - see scratch_files.h. A list, because programs have few half-written files at a
 * time. */
#include "fs/tree/scratch_files.h"
#include "fs/edit/stage.h"
#include "fs/tree/file_name.h"
#include "fs/tree/inodes.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct scratch_file {
	struct scratch_file *next;
	uint64_t directory;
	char name[NAME_MAX + 1];
	struct inode *inode; /* NULL: the name is hidden */
	uint64_t number;     /* place in the directory; never used again */
};

struct scratch_files {
	struct inodes *inodes;
	pthread_mutex_t lock; /* protects the fields below */
	struct scratch_file *first;
	uint64_t next_number;
};

struct scratch_files *scratch_files_new(struct inodes *inodes)
{
	struct scratch_files *scratches = calloc(1, sizeof(*scratches));

	if (!scratches)
		return NULL;
	scratches->inodes = inodes;
	pthread_mutex_init(&scratches->lock, NULL);
	return scratches;
}

/* Release a detached list, without the lock: a stage may wait for the disk. */
static void release(struct scratch_files *scratches, struct scratch_file *list)
{
	while (list) {
		struct scratch_file *scratch = list;

		list = scratch->next;
		if (scratch->inode && scratch->inode->stage)
			stage_close(scratch->inode->stage);
		inodes_put(scratches->inodes, scratch->inode);
		free(scratch);
	}
}

void scratch_files_free(struct scratch_files *scratches)
{
	if (!scratches)
		return;
	release(scratches, scratches->first);
	pthread_mutex_destroy(&scratches->lock);
	free(scratches);
}

/* Is the file in force, so that its name is the slot's or key's? The caller holds the lock. */
static bool is_in_force(const struct scratch_file *scratch)
{
	return scratch->inode && scratch->inode->stage && stage_has_ended(scratch->inode->stage);
}

/* The caller holds the lock. */
static struct scratch_file **find(struct scratch_files *scratches, uint64_t directory,
				  const char *name)
{
	struct scratch_file **link = &scratches->first;

	while (*link && (is_in_force(*link) || (*link)->directory != directory ||
			 strcmp((*link)->name, name) != 0))
		link = &(*link)->next;
	return link;
}

enum scratch_kind scratch_files_find(struct scratch_files *scratches, uint64_t directory,
				     const char *name, struct inode **inode)
{
	enum scratch_kind kind = SCRATCH_NONE;
	const struct scratch_file *scratch;

	pthread_mutex_lock(&scratches->lock);
	scratch = *find(scratches, directory, name);
	if (scratch && scratch->inode) {
		kind = SCRATCH_FILE;
		if (inode)
			*inode = inodes_get(scratches->inodes, scratch->inode->ino);
	} else if (scratch) {
		kind = SCRATCH_HIDDEN;
	}
	pthread_mutex_unlock(&scratches->lock);
	return kind;
}

static void set_name(struct scratch_file *scratch, uint64_t directory, const char *name)
{
	scratch->directory = directory;
	snprintf(scratch->name, sizeof(scratch->name), "%s", name);
}

struct scratch_file *scratch_files_prepare(struct scratch_files *scratches, uint64_t directory,
					   const char *name, struct inode *inode)
{
	struct scratch_file *scratch = calloc(1, sizeof(*scratch));

	if (!scratch)
		return NULL;
	set_name(scratch, directory, name);
	if (inode) {
		scratch->inode = inodes_get(scratches->inodes, inode->ino);
		if (inode->stage)
			stage_open(inode->stage);
	}
	return scratch;
}

/* The caller holds the lock. */
static void enter(struct scratch_files *scratches, struct scratch_file *scratch)
{
	scratch->number = scratches->next_number++;
	*find(scratches, scratch->directory, scratch->name) = scratch;
}

void scratch_files_drop(struct scratch_files *scratches, struct scratch_file *scratch)
{
	release(scratches, scratch);
}

int scratch_files_add(struct scratch_files *scratches, uint64_t directory, const char *name,
		      struct inode *inode)
{
	struct scratch_file *scratch = scratch_files_prepare(scratches, directory, name, inode);
	bool is_new;

	if (!scratch)
		return -ENOMEM;
	pthread_mutex_lock(&scratches->lock);
	is_new = !*find(scratches, directory, name);
	if (is_new)
		enter(scratches, scratch);
	pthread_mutex_unlock(&scratches->lock);
	if (is_new)
		return 0;
	release(scratches, scratch);
	return -EEXIST;
}

/* Detach an entry from the list, with the lock held. */
static struct scratch_file *take(struct scratch_file **link)
{
	struct scratch_file *scratch = *link;

	*link = scratch->next;
	scratch->next = NULL;
	return scratch;
}

/* Detach all entries of a name, also those of files in force, with the lock held. */
static struct scratch_file *take_all(struct scratch_files *scratches, uint64_t directory,
				     const char *name)
{
	struct scratch_file **link = &scratches->first, *taken = NULL;

	while (*link) {
		struct scratch_file *scratch = *link;

		if (scratch->directory != directory || strcmp(scratch->name, name) != 0) {
			link = &scratch->next;
			continue;
		}
		take(link)->next = taken;
		taken = scratch;
	}
	return taken;
}

void scratch_files_enter(struct scratch_files *scratches, struct scratch_file *scratch)
{
	struct scratch_file *others;

	pthread_mutex_lock(&scratches->lock);
	others = take_all(scratches, scratch->directory, scratch->name);
	enter(scratches, scratch);
	pthread_mutex_unlock(&scratches->lock);
	release(scratches, others);
}

bool scratch_files_remove(struct scratch_files *scratches, uint64_t directory, const char *name)
{
	struct scratch_file *gone;
	bool found;

	pthread_mutex_lock(&scratches->lock);
	found = *find(scratches, directory, name) != NULL;
	gone = take_all(scratches, directory, name);
	pthread_mutex_unlock(&scratches->lock);
	release(scratches, gone);
	return found;
}

void scratch_files_unhide(struct scratch_files *scratches, uint64_t directory)
{
	struct scratch_file **link = &scratches->first;

	pthread_mutex_lock(&scratches->lock);
	while (*link) {
		if ((*link)->directory == directory && !(*link)->inode)
			release(scratches, take(link));
		else
			link = &(*link)->next;
	}
	pthread_mutex_unlock(&scratches->lock);
}

int scratch_files_rename(struct scratch_files *scratches, uint64_t directory, const char *name,
			 uint64_t new_directory, const char *new_name)
{
	struct scratch_file *scratch, *others = NULL;

	pthread_mutex_lock(&scratches->lock);
	scratch = *find(scratches, directory, name);
	if (scratch && scratch != *find(scratches, new_directory, new_name)) {
		others = take_all(scratches, new_directory, new_name);
		set_name(scratch, new_directory, new_name);
	}
	pthread_mutex_unlock(&scratches->lock);
	release(scratches, others);
	return scratch ? 0 : -ENOENT;
}

/* Number of names that keep the stage open, with the lock held. */
static unsigned count_names(const struct scratch_files *scratches, const struct inode *inode)
{
	unsigned n = 0;

	for (const struct scratch_file *s = scratches->first; s; s = s->next)
		n += s->inode && s->inode->ino == inode->ino;
	return n;
}

/* Has a process the file open? The caller holds the lock. A thread that opens the file opens the
 * stage first and then asks scratch_files_has_ended(): either it is counted here, or it finds that
 * the file has ended. */
static bool is_open(const struct scratch_files *scratches, const struct inode *inode)
{
	return stage_opens(inode->stage) > count_names(scratches, inode);
}

bool scratch_files_is_open(struct scratch_files *scratches, const struct inode *inode)
{
	bool open;

	pthread_mutex_lock(&scratches->lock);
	open = is_open(scratches, inode);
	pthread_mutex_unlock(&scratches->lock);
	return open;
}

/* The caller holds the lock. */
static bool is_file(const struct scratch_file *scratch, const struct inode *inode,
		    const struct file_name *name)
{
	return scratch->inode && scratch->inode->ino == inode->ino &&
	       file_name_is(&(struct file_name){ scratch->directory, scratch->name }, name);
}

void scratch_files_place(struct scratch_files *scratches, const struct inode *inode,
			 const struct file_name *from, const struct file_name *to)
{
	struct scratch_file **link, *scratch = NULL, *others = NULL;

	pthread_mutex_lock(&scratches->lock);
	link = find(scratches, from->directory, from->name);
	if (*link && is_file(*link, inode, from)) {
		scratch = take(link);
		others = take_all(scratches, to->directory, to->name);
	}
	if (scratch && inode->stage && count_names(scratches, inode) == 0) {
		stage_set_ended(inode->stage);
		if (stage_opens(inode->stage) > 1) {
			set_name(scratch, to->directory, to->name);
			scratch->next = scratches->first;
			scratches->first = scratch;
			scratch = NULL;
		}
	}
	pthread_mutex_unlock(&scratches->lock);
	release(scratches, scratch);
	release(scratches, others);
}

bool scratch_files_has_ended(struct scratch_files *scratches, const struct inode *inode)
{
	bool ended;

	pthread_mutex_lock(&scratches->lock);
	ended = stage_has_ended(inode->stage);
	pthread_mutex_unlock(&scratches->lock);
	return ended;
}

void scratch_files_end(struct scratch_files *scratches, const struct inode *inode,
		       const struct file_name *name)
{
	struct scratch_file **link = &scratches->first, *scratch = NULL;

	pthread_mutex_lock(&scratches->lock);
	while (*link && !is_file(*link, inode, name))
		link = &(*link)->next;
	if (*link && !is_open(scratches, inode)) {
		scratch = take(link);
		if (count_names(scratches, inode) == 0)
			stage_set_ended(inode->stage);
	}
	pthread_mutex_unlock(&scratches->lock);
	release(scratches, scratch);
}

bool scratch_files_name(struct scratch_files *scratches, const struct inode *inode,
			uint64_t *directory, char name[NAME_MAX + 1])
{
	const struct scratch_file *scratch;

	pthread_mutex_lock(&scratches->lock);
	scratch = scratches->first;
	while (scratch && !(scratch->inode && scratch->inode->ino == inode->ino))
		scratch = scratch->next;
	if (scratch) {
		*directory = scratch->directory;
		strcpy(name, scratch->name);
	}
	pthread_mutex_unlock(&scratches->lock);
	return scratch != NULL;
}

bool scratch_files_next(struct scratch_files *scratches, uint64_t directory, uint64_t *number,
			char name[NAME_MAX + 1], uint64_t *ino)
{
	const struct scratch_file *best = NULL;

	pthread_mutex_lock(&scratches->lock);
	for (const struct scratch_file *s = scratches->first; s; s = s->next)
		if (s->inode && !is_in_force(s) && s->directory == directory &&
		    s->number >= *number && (!best || s->number < best->number))
			best = s;
	if (best) {
		*number = best->number;
		*ino = best->inode->ino;
		strcpy(name, best->name);
	}
	pthread_mutex_unlock(&scratches->lock);
	return best != NULL;
}
