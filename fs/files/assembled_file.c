/* SPDX-License-Identifier: MIT */
/* assembled_file.c - see assembled_file.h. */
#include "fs/files/assembled_file.h"
#include "fs/model/model.h"
#include "fs/storage/backing.h"
#include "fs/storage/view.h"
#include "fs/util/paths.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

struct assembled_file {
	struct model *model;
	pthread_mutex_t lock; /* protects the rest */
	struct backing *file; /* NULL: there is none */
	uint64_t generation;  /* of the model in the file */
	uint64_t stamp;	      /* counts the changes of file */
};

struct assembled_file *assembled_file_new(struct model *model)
{
	struct assembled_file *kept = calloc(1, sizeof(*kept));

	if (!kept)
		return NULL;
	kept->model = model;
	pthread_mutex_init(&kept->lock, NULL);
	return kept;
}

void assembled_file_free(struct assembled_file *kept)
{
	if (!kept)
		return;
	backing_unref(kept->file);
	pthread_mutex_destroy(&kept->lock);
	free(kept);
}

/* Whether another user can write other bytes into the file and restore its mtime. The group's bits
 * include the rights of an access control list. */
static bool is_writable_by_others(const struct backing *file)
{
	const struct stat *stat = backing_stat(file);

	return stat->st_uid != geteuid() || (stat->st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

void assembled_file_set(struct assembled_file *kept, struct backing *file, uint64_t generation)
{
	struct backing *last;

	if (file && is_writable_by_others(file)) {
		backing_unref(file);
		file = NULL;
	}
	pthread_mutex_lock(&kept->lock);
	last = kept->file;
	kept->file = file;
	kept->generation = generation;
	kept->stamp += file || last;
	pthread_mutex_unlock(&kept->lock);
	backing_unref(last);
}

/* Whether the file's path still leads to the same, unchanged file. Call with the lock held. */
static bool is_in_place(const struct assembled_file *kept)
{
	struct stat now;

	return stat(backing_path(kept->file), &now) == 0 &&
	       paths_same_file(&now, backing_stat(kept->file));
}

/* Stop keeping the file if it no longer holds the current model. Call with the lock held. Returns
 * the file for the caller to release, or NULL. */
static struct backing *drop_changed(struct assembled_file *kept)
{
	struct backing *file = kept->file;

	if (!file || (kept->generation == model_generation(kept->model) && is_in_place(kept)))
		return NULL;
	kept->file = NULL;
	kept->stamp++;
	return file;
}

struct view *assembled_file_view(struct assembled_file *kept, uint64_t generation,
				 struct view *instead)
{
	struct segment segment = { .kind = SEGMENT_EXTENT };
	struct view *view = NULL;
	struct backing *dropped;

	pthread_mutex_lock(&kept->lock);
	dropped = drop_changed(kept);
	if (kept->file && kept->generation == generation) {
		segment.backing = kept->file;
		segment.length = backing_size(segment.backing);
		view = view_new(&segment, 1, NULL);
	}
	pthread_mutex_unlock(&kept->lock);
	backing_unref(dropped);
	if (view)
		view_set_fallback(view, instead);
	return view;
}

uint64_t assembled_file_stamp(struct assembled_file *kept)
{
	struct backing *dropped;
	uint64_t stamp;

	pthread_mutex_lock(&kept->lock);
	dropped = drop_changed(kept);
	stamp = kept->stamp;
	pthread_mutex_unlock(&kept->lock);
	backing_unref(dropped);
	return stamp;
}
