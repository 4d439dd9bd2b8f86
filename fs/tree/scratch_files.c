/* SPDX-License-Identifier: MIT */
/* scratch_files.c - see scratch_files.h. A list: there are as many as programs have files half
 * written. */
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
	bool placed;	     /* and does not keep the stage open */
	uint64_t number;     /* place in the directory; never used again */
};

struct scratch_files {
	struct inodes *inodes;
	pthread_mutex_t lock; /* protects what follows */
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

/* Out of the list already, and without the lock: the stage may wait for the disk. */
static void release(struct scratch_files *scratches, struct scratch_file *scratch)
{
	if (!scratch)
		return;
	if (scratch->inode && scratch->inode->stage && !scratch->placed)
		stage_close(scratch->inode->stage);
	inodes_put(scratches->inodes, scratch->inode);
	free(scratch);
}

void scratch_files_free(struct scratch_files *scratches)
{
	if (!scratches)
		return;
	while (scratches->first) {
		struct scratch_file *scratch = scratches->first;

		scratches->first = scratch->next;
		release(scratches, scratch);
	}
	pthread_mutex_destroy(&scratches->lock);
	free(scratches);
}

/* With the lock held. */
static struct scratch_file **find(struct scratch_files *scratches, uint64_t directory,
				  const char *name, bool placed)
{
	struct scratch_file **link = &scratches->first;

	while (*link && ((*link)->placed != placed || (*link)->directory != directory ||
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
	scratch = *find(scratches, directory, name, false);
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

/* With the lock held. */
static void enter(struct scratch_files *scratches, struct scratch_file *scratch)
{
	scratch->number = scratches->next_number++;
	*find(scratches, scratch->directory, scratch->name, false) = scratch;
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
	is_new = !*find(scratches, directory, name, false);
	if (is_new)
		enter(scratches, scratch);
	pthread_mutex_unlock(&scratches->lock);
	if (is_new)
		return 0;
	release(scratches, scratch);
	return -EEXIST;
}

/* With the lock held, if there is one. */
static struct scratch_file *take(struct scratch_files *scratches, uint64_t directory,
				 const char *name, bool placed)
{
	struct scratch_file **link = find(scratches, directory, name, placed), *scratch = *link;

	if (scratch)
		*link = scratch->next;
	return scratch;
}

void scratch_files_enter(struct scratch_files *scratches, struct scratch_file *scratch)
{
	struct scratch_file *other;

	pthread_mutex_lock(&scratches->lock);
	other = take(scratches, scratch->directory, scratch->name, false);
	enter(scratches, scratch);
	pthread_mutex_unlock(&scratches->lock);
	release(scratches, other);
}

bool scratch_files_remove(struct scratch_files *scratches, uint64_t directory, const char *name)
{
	struct scratch_file *scratch, *placed;

	pthread_mutex_lock(&scratches->lock);
	scratch = take(scratches, directory, name, false);
	placed = take(scratches, directory, name, true);
	pthread_mutex_unlock(&scratches->lock);
	release(scratches, scratch);
	release(scratches, placed);
	return scratch != NULL;
}

void scratch_files_unhide(struct scratch_files *scratches, uint64_t directory)
{
	struct scratch_file **link = &scratches->first, *scratch;

	pthread_mutex_lock(&scratches->lock);
	while ((scratch = *link)) {
		if (scratch->directory == directory && !scratch->inode) {
			*link = scratch->next;
			release(scratches, scratch);
		} else {
			link = &scratch->next;
		}
	}
	pthread_mutex_unlock(&scratches->lock);
}

int scratch_files_rename(struct scratch_files *scratches, uint64_t directory, const char *name,
			 uint64_t new_directory, const char *new_name)
{
	struct scratch_file *scratch, *other = NULL;

	pthread_mutex_lock(&scratches->lock);
	scratch = *find(scratches, directory, name, false);
	if (scratch && scratch != *find(scratches, new_directory, new_name, false))
		other = take(scratches, new_directory, new_name, false);
	if (scratch)
		set_name(scratch, new_directory, new_name);
	pthread_mutex_unlock(&scratches->lock);
	release(scratches, other);
	return scratch ? 0 : -ENOENT;
}

/* With the lock held: is that the name of the inode, and it is not placed? */
static bool is_file(struct scratch_files *scratches, const struct inode *inode,
		    const struct file_name *name)
{
	const struct scratch_file *scratch = *find(scratches, name->directory, name->name, false);

	return scratch && scratch->inode && scratch->inode->ino == inode->ino;
}

/* With the lock held: scratch, which is in no list, is placed, before what was placed earlier. Its
 * inode, to release, if it was not placed before and so kept the stage open. */
static struct inode *enter_placed(struct scratch_files *scratches, struct scratch_file *scratch,
				  const struct file_name *name)
{
	const bool kept_open = !scratch->placed;

	set_name(scratch, name->directory, name->name);
	scratch->placed = true;
	scratch->next = scratches->first;
	scratches->first = scratch;
	return kept_open ? inodes_get(scratches->inodes, scratch->inode->ino) : NULL;
}

/* What has one name is placed under the other, or the same; with inode only that, if it is still
 * the file of that name. */
static void place(struct scratch_files *scratches, const struct inode *inode,
		  const struct file_name *from, const struct file_name *to)
{
	struct scratch_file *gone[4] = { NULL }; /* a file and what was placed; of both names */
	struct inode *kept_open = NULL;

	pthread_mutex_lock(&scratches->lock);
	if (!inode || is_file(scratches, inode, from)) {
		for (int k = 0; k < 4; k++) {
			const struct file_name *name = k < 2 ? from : to;

			gone[k] = take(scratches, name->directory, name->name, k % 2);
		}
		for (int k = 0; k < 2; k++)
			if (gone[k] && gone[k]->inode && gone[k]->inode->stage) {
				kept_open = enter_placed(scratches, gone[k], to);
				gone[k] = NULL;
				break;
			}
	}
	pthread_mutex_unlock(&scratches->lock);
	for (int k = 0; k < 4; k++)
		release(scratches, gone[k]);
	if (kept_open) {
		stage_close(kept_open->stage);
		scratch_files_closed(scratches, kept_open);
	}
	inodes_put(scratches->inodes, kept_open);
}

void scratch_files_place(struct scratch_files *scratches, const struct inode *inode,
			 const struct file_name *name)
{
	place(scratches, inode, name, name);
}

void scratch_files_follow(struct scratch_files *scratches, const struct file_name *from,
			  const struct file_name *to)
{
	place(scratches, NULL, from, to);
}

/* With the lock held: how many names that are not placed keep the stage open? */
static unsigned count_names(const struct scratch_files *scratches, const struct inode *inode)
{
	unsigned n = 0;

	for (const struct scratch_file *s = scratches->first; s; s = s->next)
		n += s->inode && s->inode->ino == inode->ino && !s->placed;
	return n;
}

/* With the lock held: the stage, which no process has open, has no name that keeps it any more. */
static void end(const struct scratch_files *scratches, const struct inode *inode)
{
	if (count_names(scratches, inode) == 0)
		stage_set_over(inode->stage);
}

bool scratch_files_is_over(struct scratch_files *scratches, const struct inode *inode)
{
	bool over;

	pthread_mutex_lock(&scratches->lock);
	over = stage_is_over(inode->stage);
	pthread_mutex_unlock(&scratches->lock);
	return over;
}

void scratch_files_remove_file(struct scratch_files *scratches, const struct inode *inode,
			       const struct file_name *name)
{
	struct scratch_file *scratch = NULL;

	pthread_mutex_lock(&scratches->lock);
	if (is_file(scratches, inode, name) &&
	    stage_opens(inode->stage) <= count_names(scratches, inode)) {
		scratch = take(scratches, name->directory, name->name, false);
		end(scratches, inode);
	}
	pthread_mutex_unlock(&scratches->lock);
	release(scratches, scratch);
}

/* With the lock held: where the inode is placed, as a list of its own. */
static struct scratch_file *take_placed(struct scratch_files *scratches, const struct inode *inode)
{
	struct scratch_file **link = &scratches->first, *taken = NULL, *scratch;

	while ((scratch = *link)) {
		if (!scratch->placed || scratch->inode->ino != inode->ino) {
			link = &scratch->next;
			continue;
		}
		*link = scratch->next;
		scratch->next = taken;
		taken = scratch;
	}
	return taken;
}

bool scratch_files_closed(struct scratch_files *scratches, const struct inode *inode)
{
	struct scratch_file *placed = NULL;
	bool last;

	/* With the lock held, as scratch_files_is_over() asks: a thread that has opened the stage
	 * before that took the lock is counted, and one after it finds the file over. */
	pthread_mutex_lock(&scratches->lock);
	last = stage_opens(inode->stage) <= count_names(scratches, inode);
	if (last)
		placed = take_placed(scratches, inode);
	if (placed)
		end(scratches, inode);
	pthread_mutex_unlock(&scratches->lock);
	while (placed) {
		struct scratch_file *scratch = placed;

		placed = scratch->next;
		release(scratches, scratch);
	}
	return last;
}

/* With the lock held. NULL: it has none. */
static const struct scratch_file *name_of(const struct scratch_files *scratches,
					  const struct inode *inode)
{
	const struct scratch_file *named = NULL;

	for (const struct scratch_file *s = scratches->first; s && !(named && named->placed);
	     s = s->next)
		if (s->inode && s->inode->ino == inode->ino && (s->placed || !named))
			named = s;
	return named;
}

bool scratch_files_name(struct scratch_files *scratches, const struct inode *inode,
			uint64_t *directory, char name[NAME_MAX + 1])
{
	const struct scratch_file *scratch;

	pthread_mutex_lock(&scratches->lock);
	scratch = name_of(scratches, inode);
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
		if (s->inode && !s->placed && s->directory == directory && s->number >= *number &&
		    (!best || s->number < best->number))
			best = s;
	if (best) {
		*number = best->number;
		*ino = best->inode->ino;
		strcpy(name, best->name);
	}
	pthread_mutex_unlock(&scratches->lock);
	return best != NULL;
}
