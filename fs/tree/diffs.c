/* SPDX-License-Identifier: MIT */
/* diffs.c - see diffs.h.
 *
 * One thread at a time works on an entry, between begin() and end(). A disk that hangs at a link's
 * target blocks only that thread: others wait at most MAKING_MS, and a thread that removes the link
 * does not wait. The last thread that has a removed entry releases it and closes the file that its
 * link led to. */
#include "fs/tree/diffs.h"
#include "fs/assemble/block_metadata.h"
#include "fs/diff/diff.h"
#include "fs/diff/diff_adapter.h"
#include "fs/diff/diff_adapter_table.h"
#include "fs/diff/diff_factors.h"
#include "fs/diff/diff_picture.h"
#include "fs/diff/diff_side.h"
#include "fs/diff/diff_summary.h"
#include "fs/diff/diff_table.h"
#include "fs/edit/symlinks.h"
#include "fs/model/model.h"
#include "fs/model/slots.h"
#include "fs/storage/backing.h"
#include "fs/storage/fd_cache.h"
#include "fs/storage/view.h"
#include "fs/tree/inodes.h"
#include "fs/util/clock.h"
#include "fs/util/cond_poll.h"
#include "fs/util/log.h"
#include "fs/util/paths.h"
#include "fs/util/text_escape.h"
#include "gguf/error.h"
#include "gguf/reader.h"
#include "gguf/shard.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Milliseconds during which a link is not followed again: one result serves the several requests of
 * one system call. */
#define LOOKED_MS 2000

/* Milliseconds that a thread waits for another that works on the entry; following a link twice
 * takes less. */
#define MAKING_MS (SYMLINKS_TIMEOUT * 3000)

struct diffs_entry {
	struct diffs_entry *next;
	char *name;
	unsigned refs;		/* of the list and of threads; protected by the lock of the list */
	pthread_mutex_t lock;	/* protects is_making */
	pthread_cond_t changed; /* is_making became false */
	bool is_making;		/* a thread works on the entry and owns the fields below */
	bool made;
	bool silent;		      /* the last attempt to follow the link got no answer */
	struct content *link;	      /* link of the made state, referenced; NULL: none */
	struct model *model;	      /* other model of the made state; NULL: none */
	uint64_t here, there;	      /* generations of the two models */
	int64_t looked;		      /* clock_ms() */
	struct backing *file;	      /* target of the link; NULL: none */
	struct diff *diff;	      /* NULL: there is none; see why */
	struct diff_factors *factors; /* of diff; NULL: not requested yet */
	char *why;
	struct inode *inodes[DIFFS_FORMS]; /* NULL: not requested yet */
};

struct diffs {
	struct diffs_params params;
	pthread_mutex_t lock; /* protects the list of entries and their refs */
	struct diffs_entry *entries;
};

const char *diffs_ending(diffs_form form, char text[DIFFS_ENDING_MAX])
{
	static const char *const listed[DIFFS_LISTED] = {
		[DIFFS_SUMMARY] = "", [DIFFS_TABLE] = ".tsv", [DIFFS_PICTURE] = ".svg"
	};
	const unsigned adapter = form < DIFFS_LISTED ? 0 : form - DIFFS_LISTED;

	if (form < DIFFS_LISTED)
		snprintf(text, DIFFS_ENDING_MAX, "%s", listed[form]);
	else
		snprintf(text, DIFFS_ENDING_MAX, ".lora-%u%s", adapter / 2 % DIFF_RANK_MOST + 1,
			 adapter % 2 ? ".tsv" : ".gguf");
	return text;
}

struct diffs *diffs_new(const struct diffs_params *params)
{
	struct diffs *diffs = calloc(1, sizeof(*diffs));

	if (!diffs)
		return NULL;
	diffs->params = *params;
	pthread_mutex_init(&diffs->lock, NULL);
	return diffs;
}

/* Empty the entry. Closes its file, unless the file is kept for the next state. */
static void empty(const struct diffs *diffs, struct diffs_entry *entry, const struct backing *kept)
{
	for (diffs_form form = 0; form < DIFFS_FORMS; form++) {
		inodes_put(diffs->params.inodes, entry->inodes[form]);
		entry->inodes[form] = NULL;
	}
	/* The kernel keeps inodes as long as it likes, and an open file would keep another
	 * filesystem from being unmounted. */
	if (entry->file && entry->file != kept)
		backing_revoke(entry->file);
	backing_unref(entry->file);
	content_unref(entry->link);
	diff_factors_unref(entry->factors);
	diff_unref(entry->diff);
	free(entry->why);
	entry->file = NULL;
	entry->link = NULL;
	entry->factors = NULL;
	entry->diff = NULL;
	entry->why = NULL;
	entry->made = false;
}

static void free_entry(const struct diffs *diffs, struct diffs_entry *entry)
{
	empty(diffs, entry, NULL);
	pthread_cond_destroy(&entry->changed);
	pthread_mutex_destroy(&entry->lock);
	free(entry->name);
	free(entry);
}

void diffs_free(struct diffs *diffs)
{
	if (!diffs)
		return;
	while (diffs->entries) {
		struct diffs_entry *entry = diffs->entries;

		diffs->entries = entry->next;
		free_entry(diffs, entry);
	}
	pthread_mutex_destroy(&diffs->lock);
	free(diffs);
}

static struct diffs_entry *new_entry(const char *name)
{
	struct diffs_entry *entry = calloc(1, sizeof(*entry));

	if (!entry || !(entry->name = strdup(name))) {
		free(entry);
		return NULL;
	}
	entry->refs = 1;
	pthread_mutex_init(&entry->lock, NULL);
	cond_poll_init(&entry->changed);
	return entry;
}

/* Find the pointer to the entry of that name, or to the end of the list. The caller holds the lock
 * of the list. */
static struct diffs_entry **find_entry(struct diffs *diffs, const char *name)
{
	struct diffs_entry **link = &diffs->entries;

	while (*link && strcmp((*link)->name, name) != 0)
		link = &(*link)->next;
	return link;
}

/* Get the entry of that name, to put; make: add a missing one. NULL: there is none, or out of
 * memory. */
static struct diffs_entry *get_entry(struct diffs *diffs, const char *name, bool make)
{
	struct diffs_entry **link, *entry;

	pthread_mutex_lock(&diffs->lock);
	link = find_entry(diffs, name);
	if (!*link && make)
		*link = new_entry(name);
	entry = *link;
	if (entry)
		entry->refs++;
	pthread_mutex_unlock(&diffs->lock);
	return entry;
}

static void put_entry(struct diffs *diffs, struct diffs_entry *entry)
{
	bool last;

	pthread_mutex_lock(&diffs->lock);
	last = --entry->refs == 0;
	pthread_mutex_unlock(&diffs->lock);
	if (last)
		free_entry(diffs, entry);
}

/* Begin work on the entry, waiting at most so long for another thread. False: another thread still
 * works on it. */
static bool begin(struct diffs_entry *entry, int64_t milliseconds)
{
	const int64_t start = clock_ms();
	bool begun;

	pthread_mutex_lock(&entry->lock);
	while (entry->is_making && clock_ms() - start < milliseconds)
		cond_poll_wait(&entry->changed, &entry->lock);
	begun = !entry->is_making;
	entry->is_making = true;
	pthread_mutex_unlock(&entry->lock);
	return begun;
}

static void end(struct diffs_entry *entry)
{
	pthread_mutex_lock(&entry->lock);
	entry->is_making = false;
	pthread_cond_broadcast(&entry->changed);
	pthread_mutex_unlock(&entry->lock);
}

/* Get the entry of that name and begin work on it without waiting. NULL: there is none, or another
 * thread works on it. */
static struct diffs_entry *try_entry(struct diffs *diffs, const char *name)
{
	struct diffs_entry *entry = get_entry(diffs, name, false);

	if (!entry || begin(entry, 0))
		return entry;
	put_entry(diffs, entry);
	return NULL;
}

static void end_entry(struct diffs *diffs, struct diffs_entry *entry)
{
	end(entry);
	put_entry(diffs, entry);
}

static uint64_t generation_there(const struct diffs_other *other)
{
	return other->model ? model_generation(other->model) : 0;
}

/* Was the entry made from the current states of both models? The link's target is not checked. */
static bool is_of_now(const struct diffs *diffs, const struct diffs_entry *entry,
		      const struct diffs_other *other)
{
	return entry->made && entry->link == other->link && entry->model == other->model &&
	       entry->here == model_generation(diffs->params.model) &&
	       entry->there == generation_there(other);
}

static bool was_looked_at(const struct diffs_entry *entry)
{
	return !entry->link || clock_ms() - entry->looked < LOOKED_MS;
}

/* Put a file just opened into a descriptor set of its own, with room for both of its descriptors,
 * so that backing_revoke() can close these. False: out of memory. */
static bool make_revocable(struct backing *file)
{
	struct fd_cache *set = fd_cache_new(2);
	uint8_t byte;

	if (!set)
		return false;
	backing_join_cache(file, set, FILE_USE_NONE);
	/* The set is locked during an open(), which a disk may block. Open the second descriptor
	 * before another thread knows the file, so that backing_revoke() does not wait. */
	backing_read_with(file, BACKING_SPANS | BACKING_UNCHECKED, &byte, sizeof(byte), 0);
	fd_cache_unref(set);
	return true;
}

/* Prepare a file just opened for comparison. Returns 0 or -errno with err set. */
static int prepare(struct backing *file, const struct gguf *gguf, struct log *log,
		   struct error *err)
{
	struct split split;

	if (gguf_split(gguf, &split))
		return error_set(err, EINVAL, ERROR_NO_OFFSET,
				 "the file is one of %" PRIu64 " shards: mount the model, and "
				 "link the mount",
				 split.count);
	if (!make_revocable(file))
		return -ENOMEM;
	backing_set_log(file, log);
	return 0;
}

/* Open and parse the file that a link leads to; a directory means a mount with a model in it.
 * Returns 0 or -errno with err set. */
static int follow(struct diffs *diffs, const struct content *link, bool silent,
		  struct backing **file, struct gguf **gguf, struct error *err)
{
	struct model *model = diffs->params.model;
	const uid_t uid = link->uid;
	const gid_t gid = link->gid;
	int rc = symlinks_gguf(model, link->target, uid, gid, silent, file, gguf, err);
	struct error other = { 0 };
	char *inside;

	/* The error of the path itself is the better reason, unless there is a model. */
	if (rc == -EINVAL && asprintf(&inside, "%s/model.gguf", link->target) >= 0) {
		rc = symlinks_gguf(model, inside, uid, gid, silent, file, gguf, &other);
		if (rc != -ENOTDIR && rc != -ENOENT)
			*err = other;
		else
			rc = -err->code;
		free(inside);
	}
	if (rc < 0)
		return rc;
	rc = prepare(*file, *gguf, model->log, err);
	if (rc == 0)
		return 0;
	backing_unref(*file);
	gguf_free(*gguf);
	*file = NULL;
	*gguf = NULL;
	return rc;
}

/* Side of a model in its current state. NULL: out of memory. */
static struct diff_side *side_now(struct model *model, const char *name)
{
	struct snapshot snapshot;
	struct diff_side *side;

	block_metadata_show(model);
	if (model_snapshot(model, &snapshot) < 0)
		return NULL;
	side = diff_side_of_model(model, &snapshot, name);
	snapshot_release(&snapshot);
	return side;
}

struct diffs_found {
	struct backing *file;
	struct gguf *gguf;
};

static struct diff_side *side_there(const struct diffs *diffs, const struct diffs_other *other,
				    const struct diffs_found *found)
{
	const struct model *model = diffs->params.model;

	if (other->model)
		return side_now(other->model, other->name);
	if (other->link)
		return diff_side_of_base(found->file, found->gguf, other->link->target);
	return diff_side_of_base(model->base, model->gguf, other->name);
}

static struct diff *new_diff(const struct diffs *diffs, const struct diffs_other *other,
			     const struct diffs_found *found)
{
	struct model *model = diffs->params.model;
	const struct diff_params params = { .samples = diffs->params.samples,
					    .pool = diffs->params.pool,
					    .ending = diffs->params.ending };

	return diff_new(side_now(model, model->shown ? model->shown : model->name),
			side_there(diffs, other, found), &params);
}

/* Make the entry anew from the current models and the target of a link, which is used up, or with
 * the reason in err why the link has none. Returns 0 or -ENOMEM. */
static int make_entry(struct diffs *diffs, struct diffs_entry *entry,
		      const struct diffs_other *other, struct diffs_found *found,
		      const struct error *err)
{
	struct diff *old = entry->diff, *diff = NULL;
	const uint64_t here = model_generation(diffs->params.model);
	const uint64_t there = generation_there(other);
	char text[320];
	char *why = NULL;

	entry->diff = NULL;
	empty(diffs, entry, found->file);
	if (err->code)
		why = strdup(error_describe(err, text, sizeof(text)));
	else
		diff = new_diff(diffs, other, found);
	if (diff && old)
		diff_inherit(diff, old);
	diff_unref(old);
	gguf_free(found->gguf);
	if (!diff && !why) {
		backing_unref(found->file);
		return -ENOMEM;
	}
	entry->made = true;
	entry->link = other->link ? content_ref(other->link) : NULL;
	entry->model = other->model;
	entry->here = here;
	entry->there = there;
	entry->file = found->file;
	entry->diff = diff;
	entry->why = why;
	return 0;
}

/* Bring the entry up to date. Returns 0 or -ENOMEM. */
static int update(struct diffs *diffs, struct diffs_entry *entry, const struct diffs_other *other)
{
	const bool of_now = is_of_now(diffs, entry, other);
	struct diffs_found found = { .file = NULL };
	struct error err = { 0 };
	bool same = false;
	int rc = 0;

	if (of_now && was_looked_at(entry))
		return 0;
	if (other->link) {
		rc = follow(diffs, other->link, entry->silent, &found.file, &found.gguf, &err);
		entry->silent = rc == -ETIMEDOUT;
	}
	if (rc == -ENOMEM)
		return rc;
	/* Keep the backing of an unchanged file, because its measures are found by it. */
	if (rc == 0 && entry->file &&
	    paths_same_file(backing_stat(entry->file), backing_stat(found.file))) {
		backing_unref(found.file);
		found.file = backing_ref(entry->file);
		same = of_now;
	}
	if (same) {
		backing_unref(found.file);
		gguf_free(found.gguf);
	} else {
		rc = make_entry(diffs, entry, other, &found, &err);
	}
	entry->looked = clock_ms();
	return rc == -ENOMEM ? rc : 0;
}

/* File content that says why there is nothing to compare with, so that a listing has no errors. */
static struct view *view_of_why(const struct diffs_entry *entry)
{
	const char *target = entry->link->target;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	fputs("# there is nothing to compare with: ", out);
	text_escape_print(target, strlen(target), "", out);
	fprintf(out, ": %s\n", entry->why);
	return view_of_stream(out, &text, &size);
}

/* View of an adapter or its table. One set of low-rank factors serves all ranks. */
static struct view *view_of_adapter(struct diffs_entry *entry, unsigned number, int *rc)
{
	const uint32_t rank = number / 2 + 1;

	if (!entry->factors)
		entry->factors = diff_factors_new(entry->diff, DIFF_FACTORS_ROOM);
	if (!entry->factors)
		return NULL;
	if (number % 2)
		return diff_adapter_table_view(entry->factors, rank);
	return diff_adapter_view(entry->factors, rank, rc);
}

/* View of a file. NULL with *rc set. */
static struct view *view_of(struct diffs_entry *entry, diffs_form form, int *rc)
{
	*rc = -ENOMEM;
	if (!entry->diff && form >= DIFFS_LISTED) {
		*rc = -ENOENT;
		return NULL;
	}
	if (!entry->diff)
		return view_of_why(entry);
	if (form >= DIFFS_LISTED)
		return view_of_adapter(entry, form - DIFFS_LISTED, rc);
	if (form == DIFFS_TABLE)
		return diff_table_view(entry->diff);
	if (form == DIFFS_PICTURE)
		return diff_picture_view(entry->diff);
	return diff_summary_view(entry->diff, rc);
}

static struct inode *make_inode(struct diffs *diffs, struct diffs_entry *entry, diffs_form form,
				int *rc)
{
	struct inode made = { .family = FAMILY_DIFF_FILE, .model = diffs->params.model }, *inode;

	made.view = view_of(entry, form, rc);
	if (!made.view)
		return NULL;
	made.ino = inodes_new_ino(diffs->params.inodes, made.model);
	clock_gettime(CLOCK_REALTIME, &made.mtime);
	inode = inodes_add(diffs->params.inodes, &made);
	*rc = inode ? 0 : -ENOMEM;
	return inode;
}

static void report(const struct diffs *diffs, const struct diffs_other *other, diffs_form form,
		   int rc)
{
	char ending[DIFFS_ENDING_MAX];

	log_add(diffs->params.model->log, ".diff/%s%s: cannot be made: %s", other->name,
		diffs_ending(form, ending),
		rc == -ENODATA	? "no matrix is in both models with one shape and known values"
		: rc == -ENOENT ? "the link leads to no model"
		: rc == -EINVAL ? "the weights are stored in another basis (*.hadamard.*)"
				: strerror(-rc));
}

struct inode *diffs_inode(struct diffs *diffs, const struct diffs_other *other, diffs_form form,
			  int *rc)
{
	struct diffs_entry *entry = get_entry(diffs, other->name, true);
	struct inode *inode = NULL;

	*rc = -ENOMEM;
	if (entry && !begin(entry, MAKING_MS)) {
		*rc = -ETIMEDOUT;
		put_entry(diffs, entry);
	} else if (entry) {
		*rc = update(diffs, entry, other);
		if (*rc == 0 && !entry->inodes[form])
			entry->inodes[form] = make_inode(diffs, entry, form, rc);
		if (*rc == 0)
			inode = inodes_get(diffs->params.inodes, entry->inodes[form]->ino);
		end_entry(diffs, entry);
	}
	if (!inode)
		report(diffs, other, form, *rc);
	/* An adapter of two models without a common matrix does not exist. */
	if (!inode && *rc == -ENODATA)
		*rc = -ENOENT;
	return inode;
}

bool diffs_may_block(struct diffs *diffs, const struct diffs_other *other, diffs_form form)
{
	struct diffs_entry *entry = try_entry(diffs, other->name);
	bool blocks;

	if (!entry)
		return true;
	blocks = !is_of_now(diffs, entry, other) || !was_looked_at(entry) || !entry->inodes[form];
	end_entry(diffs, entry);
	return blocks;
}

uint64_t diffs_ino(struct diffs *diffs, const char *name, diffs_form form)
{
	struct diffs_entry *entry = try_entry(diffs, name);
	uint64_t ino = 0;

	if (!entry)
		return 0;
	if (entry->inodes[form])
		ino = entry->inodes[form]->ino;
	end_entry(diffs, entry);
	return ino;
}

void diffs_remove(struct diffs *diffs, const char *name)
{
	struct diffs_entry **link, *entry;

	pthread_mutex_lock(&diffs->lock);
	link = find_entry(diffs, name);
	entry = *link;
	if (entry)
		*link = entry->next;
	pthread_mutex_unlock(&diffs->lock);
	if (entry)
		put_entry(diffs, entry);
}
