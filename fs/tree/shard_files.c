/* SPDX-License-Identifier: MIT */
/* shard_files.c - see shard_files.h. All files are made at once, from one snapshot. */
#include "fs/tree/shard_files.h"
#include "fs/assemble/model_view.h"
#include "fs/assemble/split_write.h"
#include "fs/edit/journal.h"
#include "fs/metadata/metadata.h"
#include "fs/model/adapters.h"
#include "fs/model/inode.h"
#include "fs/storage/view.h"
#include "fs/tree/inodes.h"
#include "fs/util/log.h"
#include "fs/util/time_order.h"
#include "gguf/divide.h"
#include "gguf/error.h"
#include "gguf/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct shard_set {
	uint64_t stamp;
	uint32_t n;
	struct inode **files;
};

struct shard_files {
	struct model *model;
	struct inodes *inodes;
	pthread_mutex_t making; /* held while files are made, which may take long */
	uint64_t logged;	/* stamp of the failure logged last; under making */
	pthread_mutex_t lock;	/* protects the fields below; taken after making */
	uint64_t counted;	/* stamp of n */
	uint32_t n;
	struct shard_set made;
};

struct shard_files *shard_files_new(struct model *model, struct inodes *inodes)
{
	struct shard_files *files = calloc(1, sizeof(*files));

	if (!files)
		return NULL;
	files->model = model;
	files->inodes = inodes;
	pthread_mutex_init(&files->making, NULL);
	pthread_mutex_init(&files->lock, NULL);
	return files;
}

static void release_set(struct shard_files *files, struct shard_set *set)
{
	for (uint32_t k = 0; set->files && k < set->n; k++)
		inodes_put(files->inodes, set->files[k]);
	free(set->files);
}

void shard_files_free(struct shard_files *files)
{
	if (!files)
		return;
	release_set(files, &files->made);
	pthread_mutex_destroy(&files->lock);
	pthread_mutex_destroy(&files->making);
	free(files);
}

/* Stamp of the current state; never 0. */
static uint64_t stamp_of(const struct shard_files *files)
{
	return model_generation(files->model) + 1;
}

/* Is the slot part of the assembled model? */
static bool is_assembled(const struct model *model, const struct snapshot *snapshot, uint32_t slot)
{
	return !content_is_whiteout(snapshot->content[slot]) && !adapters_is_half(model, slot);
}

static uint32_t count_files(struct model *model)
{
	const struct gguf *gguf = model->gguf;
	struct snapshot snapshot;
	uint32_t n = 1;
	bool can = model->whole && gguf->version > 1;

	if (!can || slots_snapshot(model->slots, &snapshot) < 0)
		return 0;
	for (uint32_t i = 0; i < snapshot.n; i++) {
		n += is_assembled(model, &snapshot, i);
		can &= snapshot.content[i] || !type_is_short(gguf->tensors[i].type);
	}
	snapshot_release(&snapshot);
	return can && n > 1 && n <= DIVIDE_PARTS_MOST ? n : 0;
}

uint32_t shard_files_count(struct shard_files *files)
{
	uint64_t stamp;
	uint32_t n;

	pthread_mutex_lock(&files->lock);
	stamp = stamp_of(files);
	if (files->counted != stamp) {
		files->n = count_files(files->model);
		files->counted = stamp;
	}
	n = files->n;
	pthread_mutex_unlock(&files->lock);
	return n;
}

/* Print a file's name, truncated if it would be too long. */
static void print_name(const struct shard_files *files, uint32_t k, uint32_t n,
		       char name[NAME_MAX + 1])
{
	snprintf(name, NAME_MAX + 1, "%.225s-%05" PRIu32 "-of-%05" PRIu32 ".gguf",
		 files->model->name, k + 1, n);
}

uint64_t shard_files_entry(struct shard_files *files, uint32_t k, uint32_t n,
			   char name[NAME_MAX + 1])
{
	uint64_t ino = 0;

	print_name(files, k, n, name);
	pthread_mutex_lock(&files->lock);
	if (files->made.stamp == stamp_of(files) && k < files->made.n)
		ino = files->made.files[k]->ino;
	pthread_mutex_unlock(&files->lock);
	return ino ? ino : inode_new(files->model);
}

static bool is_made(struct shard_files *files)
{
	bool is;

	pthread_mutex_lock(&files->lock);
	is = files->made.stamp == stamp_of(files);
	pthread_mutex_unlock(&files->lock);
	return is;
}

bool shard_files_may_block(struct shard_files *files)
{
	return shard_files_count(files) > 0 && !is_made(files);
}

/* Find a file by name. NULL: none of the files made last. */
static struct inode *find(struct shard_files *files, const char *name)
{
	static const char numbers[] = "00001-of-00002.gguf";
	const size_t length = strlen(name), tail = sizeof(numbers) - 1;
	struct inode *inode = NULL;
	char is[NAME_MAX + 1];
	unsigned long k;

	if (length <= tail)
		return NULL;
	k = strtoul(name + length - tail, NULL, 10) - 1;
	pthread_mutex_lock(&files->lock);
	if (k < files->made.n) {
		print_name(files, (uint32_t)k, files->made.n, is);
		if (strcmp(name, is) == 0)
			inode = inodes_get(files->inodes, files->made.files[k]->ino);
	}
	pthread_mutex_unlock(&files->lock);
	return inode;
}

/* Time of the organ in a slot, or with slot -1 of the metadata. */
static struct timespec time_of(struct model *model, const struct snapshot *snapshot, int64_t slot)
{
	struct timespec time;

	if (slot >= 0 && snapshot->content[slot])
		return snapshot->content[slot]->mtime;
	if (slot >= 0 || !snapshot->edits || snapshot->edits->n == 0)
		return model_time(model);
	clock_gettime(CLOCK_REALTIME, &time);
	return time;
}

/* The file made last if its view is the same, else a new file. Uses up view. */
static struct inode *make_file(struct shard_files *files, struct inode *last, struct view *view,
			       struct timespec time)
{
	struct inode made = { .ino = inode_new(files->model),
			      .family = FAMILY_GENERATED_FIXED,
			      .model = files->model,
			      .view = view,
			      .mtime = time };

	if (last && view_is_same(last->view, view)) {
		view_unref(view);
		return inodes_get(files->inodes, last->ino);
	}
	if (last && !is_earlier(&last->mtime, &time))
		clock_gettime(CLOCK_REALTIME, &made.mtime);
	return inodes_add(files->inodes, &made);
}

/* Make the files of the views, in the order of the model's file. Returns 0 or -ENOMEM. */
static int make_files(struct shard_files *files, const struct snapshot *snapshot,
		      struct view **views, struct shard_set *set)
{
	const struct shard_set *last = &files->made;
	uint32_t *order = model_order(files->model, snapshot->n), next = 0;
	bool all = order && (set->files = calloc(set->n, sizeof(struct inode *)));

	for (uint32_t k = 0; all && k < set->n; k++) {
		while (k && !is_assembled(files->model, snapshot, order[next]))
			next++;
		set->files[k] =
			make_file(files, k < last->n ? last->files[k] : NULL, views[k],
				  time_of(files->model, snapshot, k ? (int64_t)order[next++] : -1));
		views[k] = NULL;
		all = set->files[k] != NULL;
	}
	free(order);
	return all ? 0 : -ENOMEM;
}

/* Make all files, with making held. Returns 0, or -errno with err set. */
static int make(struct shard_files *files, struct error *err)
{
	struct shard_set set = { .stamp = stamp_of(files) }, last;
	struct snapshot snapshot;
	struct view *whole, *header, **views = NULL;
	int rc;

	if (journal_snapshot(files->model, &snapshot) < 0)
		return error_errno(err, ENOMEM);
	whole = model_view_without_lineage(files->model, &snapshot, err);
	header = whole ? model_view_header(files->model, &snapshot, false, err) : NULL;
	rc = header ? split_views(whole, header, 0, &views, &set.n, err) : -err->code;
	view_unref(header);
	view_unref(whole);
	if (rc == 0 && make_files(files, &snapshot, views, &set) < 0)
		rc = error_errno(err, ENOMEM);
	split_views_free(views, set.n);
	snapshot_release(&snapshot);
	if (rc < 0) {
		release_set(files, &set);
		return rc;
	}
	pthread_mutex_lock(&files->lock);
	last = files->made;
	files->made = set;
	pthread_mutex_unlock(&files->lock);
	release_set(files, &last);
	return 0;
}

struct inode *shard_files_inode(struct shard_files *files, const char *name, int *rc)
{
	struct inode *inode = NULL;
	struct error err = { 0 };

	*rc = -ENOENT;
	if (shard_files_count(files) == 0)
		return NULL;
	pthread_mutex_lock(&files->making);
	if (!is_made(files) && make(files, &err) < 0) {
		*rc = -err.code;
		if (files->logged != stamp_of(files))
			log_add(files->model->log, ".views/shards: cannot be made: %s", err.text);
		files->logged = stamp_of(files);
	} else {
		inode = find(files, name);
	}
	pthread_mutex_unlock(&files->making);
	return inode;
}
