/* SPDX-License-Identifier: MIT */
/* scratch_files.c - see scratch_files.h. A list: there are as many as programs have files half
 * written. */
#include "fs/tree/scratch_files.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct scratch_file {
	struct scratch_file *next;
	uint64_t directory;
	char *name;
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
	free(scratch->name);
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
static struct scratch_file **find_any(struct scratch_files *scratches, uint64_t directory,
				      const char *name, bool placed)
{
	struct scratch_file **link = &scratches->first;

	while (*link && ((*link)->placed != placed || (*link)->directory != directory ||
			 strcmp((*link)->name, name) != 0))
		link = &(*link)->next;
	return link;
}

/* With the lock held: what is not placed. */
static struct scratch_file **find(struct scratch_files *scratches, uint64_t directory,
				  const char *name)
{
	return find_any(scratches, directory, name, false);
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

struct scratch_file *scratch_files_prepare(struct scratch_files *scratches, uint64_t directory,
					   const char *name, struct inode *inode)
{
	struct scratch_file *scratch = calloc(1, sizeof(*scratch));

	if (scratch)
		scratch->name = strdup(name);
	if (!scratch || !scratch->name) {
		free(scratch);
		return NULL;
	}
	scratch->directory = directory;
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

/* With the lock held, if there is one. */
static struct scratch_file *take_any(struct scratch_files *scratches, uint64_t directory,
				     const char *name, bool placed)
{
	struct scratch_file **link = find_any(scratches, directory, name, placed), *scratch = *link;

	if (scratch)
		*link = scratch->next;
	return scratch;
}

static struct scratch_file *take(struct scratch_files *scratches, uint64_t directory,
				 const char *name)
{
	return take_any(scratches, directory, name, false);
}

void scratch_files_enter(struct scratch_files *scratches, struct scratch_file *scratch)
{
	struct scratch_file *other;

	pthread_mutex_lock(&scratches->lock);
	other = take(scratches, scratch->directory, scratch->name);
	enter(scratches, scratch);
	pthread_mutex_unlock(&scratches->lock);
	release(scratches, other);
}

bool scratch_files_remove(struct scratch_files *scratches, uint64_t directory, const char *name)
{
	struct scratch_file *scratch, *placed;

	pthread_mutex_lock(&scratches->lock);
	scratch = take(scratches, directory, name);
	placed = take_any(scratches, directory, name, true);
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

/* With the lock held. Takes copy over. */
static void set_name(struct scratch_file *scratch, uint64_t directory, char *copy)
{
	free(scratch->name);
	scratch->name = copy;
	scratch->directory = directory;
}

int scratch_files_rename(struct scratch_files *scratches, uint64_t directory, const char *name,
			 uint64_t new_directory, const char *new_name)
{
	char *copy = strdup(new_name);
	struct scratch_file *scratch, *other = NULL;

	if (!copy)
		return -ENOMEM;
	pthread_mutex_lock(&scratches->lock);
	scratch = *find(scratches, directory, name);
	if (scratch && scratch != *find(scratches, new_directory, new_name))
		other = take(scratches, new_directory, new_name);
	if (scratch)
		set_name(scratch, new_directory, copy);
	pthread_mutex_unlock(&scratches->lock);
	if (!scratch)
		free(copy);
	release(scratches, other);
	return scratch ? 0 : -ENOENT;
}

/* With the lock held. NULL: it is another's, or placed. */
static struct scratch_file *find_file(struct scratch_files *scratches, const struct inode *inode,
				      const struct file_name *name)
{
	struct scratch_file *scratch = *find(scratches, name->directory, name->name);

	return scratch && scratch->inode && scratch->inode->ino == inode->ino ? scratch : NULL;
}

/* What kept the stage open does so no more. */
static void let_go(struct scratch_files *scratches, const struct inode *inode)
{
	stage_close(inode->stage);
	scratch_files_closed(scratches, inode);
}

void scratch_files_place(struct scratch_files *scratches, const struct inode *inode,
			 const struct file_name *name)
{
	struct scratch_file *scratch, *other = NULL;

	pthread_mutex_lock(&scratches->lock);
	scratch = find_file(scratches, inode, name);
	if (scratch) {
		other = take_any(scratches, name->directory, name->name, true);
		scratch->placed = true;
	}
	pthread_mutex_unlock(&scratches->lock);
	release(scratches, other);
	if (scratch)
		let_go(scratches, inode);
}

/* With the lock held: how many names that are not placed keep the stage open? */
static unsigned count_names(const struct scratch_files *scratches, const struct inode *inode)
{
	unsigned n = 0;

	for (const struct scratch_file *s = scratches->first; s; s = s->next)
		n += s->inode && s->inode->ino == inode->ino && !s->placed;
	return n;
}

/* With the lock held. NULL: the inode is not placed. */
static struct scratch_file *take_placed(struct scratch_files *scratches, const struct inode *inode)
{
	struct scratch_file **link = &scratches->first, *scratch;

	while (*link && (!(*link)->placed || (*link)->inode->ino != inode->ino))
		link = &(*link)->next;
	scratch = *link;
	if (scratch)
		*link = scratch->next;
	return scratch;
}

bool scratch_files_closed(struct scratch_files *scratches, const struct inode *inode)
{
	const unsigned opens = stage_opens(inode->stage);
	struct scratch_file *placed = NULL;
	bool last;

	pthread_mutex_lock(&scratches->lock);
	last = opens <= count_names(scratches, inode);
	if (last)
		placed = take_placed(scratches, inode);
	pthread_mutex_unlock(&scratches->lock);
	release(scratches, placed);
	return last;
}

/* With the lock held: scratch, which is in no list, is placed under that name, in copy, which it
 * takes over. Its inode, to release, if it was not placed before and so kept the stage open. */
static struct inode *place(struct scratch_files *scratches, struct scratch_file *scratch,
			   uint64_t directory, char *copy)
{
	const bool kept_open = !scratch->placed;

	set_name(scratch, directory, copy);
	scratch->placed = true;
	scratch->next = scratches->first;
	scratches->first = scratch;
	return kept_open ? inodes_get(scratches->inodes, scratch->inode->ino) : NULL;
}

void scratch_files_follow(struct scratch_files *scratches, const struct file_name *from,
			  const struct file_name *to)
{
	char *copy = strdup(to->name);
	struct scratch_file *gone[4];
	struct inode *kept_open = NULL;

	pthread_mutex_lock(&scratches->lock);
	for (int placed = 0; placed < 2; placed++) {
		gone[placed] = take_any(scratches, from->directory, from->name, placed);
		gone[2 + placed] = take_any(scratches, to->directory, to->name, placed);
	}
	for (int k = 0; k < 2; k++)
		if (copy && gone[k] && gone[k]->inode && gone[k]->inode->stage) {
			kept_open = place(scratches, gone[k], to->directory, copy);
			gone[k] = NULL;
			copy = NULL;
		}
	pthread_mutex_unlock(&scratches->lock);
	free(copy);
	for (int k = 0; k < 4; k++)
		release(scratches, gone[k]);
	if (kept_open)
		let_go(scratches, kept_open);
	inodes_put(scratches->inodes, kept_open);
}

/* With the lock held. NULL: it has none. */
static const struct scratch_file *name_of(const struct scratch_files *scratches,
					  const struct inode *inode)
{
	const struct scratch_file *named = NULL;

	for (const struct scratch_file *s = scratches->first; s; s = s->next)
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
