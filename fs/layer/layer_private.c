/* SPDX-License-Identifier: MIT */
/* layer_private.c - see layer.h: which of the private layers that earlier mounts left behind is
 * taken up.
 *
 * A file that was copied has the fingerprint of the first one, but not its grafts: a user who keeps
 * a copy wants it as it is. A file that was moved is still the one that was grafted onto. */
#include "fs/base/base.h"
#include "fs/base/fingerprint.h"
#include "fs/layer/layer_internal.h"
#include "fs/layer/layer_label.h"
#include "fs/layer/layer_open.h"
#include "fs/layer/layer_trust.h"
#include "fs/storage/backing.h"
#include "fs/util/time_order.h"
#include "fs/util/url.h"
#include "gguf/error.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A private layer of this base, open and locked. */
struct candidate_layer {
	int dir; /* -1: there is none */
	char *path;
	char *place;		 /* as its label says; NULL: it says none */
	struct timespec changed; /* 0: there is nothing in it */
};

char *layer_base_path(struct backing *base)
{
	const struct backing *first = backing_first_readable(base);
	const char *path = backing_path(first ? first : base);

	return url_is_remote(path) ? strdup(path) : realpath(path, NULL);
}

/* Let *changed be no earlier than the last change of a directory in a layer that holds something:
 * each graft is renamed into one. */
static void look_into(int dir, const char *name, struct timespec *changed)
{
	int rc;
	DIR *entries = layer_list(dir, name, &rc);
	struct stat stat;
	bool holds = false;

	if (entries && fstat(dirfd(entries), &stat) < 0)
		stat.st_mtim = (struct timespec){ 0 };
	while (layer_list_next(entries, &rc))
		holds = true;
	if (holds && is_earlier(changed, &stat.st_mtim))
		*changed = stat.st_mtim;
}

static struct timespec last_change(int dir)
{
	struct timespec changed = { 0 };
	struct stat stat;

	for (enum organ_class klass = 0; klass < CLASSES; klass++)
		look_into(dir, class_name(klass), &changed);
	look_into(dir, LAYER_METADATA, &changed);
	if (fstatat(dir, LAYER_MERGE, &stat, AT_SYMLINK_NOFOLLOW) == 0 &&
	    is_earlier(&changed, &stat.st_mtim))
		changed = stat.st_mtim;
	return changed;
}

/* Has the file this base's fingerprint, and its contents as far as both can be read? -errno. */
static int is_same(const struct layer *layer, const struct base *other)
{
	char theirs[FINGERPRINT_TEXT], mine[FINGERPRINT_TEXT];
	int rc = fingerprint(other->file, other->gguf, theirs);

	if (rc == 0)
		rc = fingerprint(layer->base, layer->gguf, mine);
	if (rc < 0 || strcmp(theirs, mine) != 0)
		return rc;
	if (fingerprint_times(other->file, other->gguf, theirs) &&
	    fingerprint_times(layer->base, layer->gguf, mine) && strcmp(theirs, mine) == 0)
		return 1;
	if (fingerprint_contents(other->file, other->gguf, theirs) == -ENOMEM ||
	    fingerprint_contents(layer->base, layer->gguf, mine) == -ENOMEM)
		return -ENOMEM;
	return !theirs[0] || !mine[0] || strcmp(theirs, mine) == 0;
}

/* Is there a copy of this base at path, or something that cannot be told from one? */
static bool is_copy(const struct layer *layer, const char *path)
{
	struct error err = { 0 };
	struct base other;
	struct stat status;
	int rc;

	/* No server is asked for a model that is not mounted. */
	if (url_is_remote(path))
		return true;
	if (stat(path, &status) < 0)
		return errno != ENOENT && errno != ENOTDIR;
	if (!S_ISREG(status.st_mode))
		return false;
	rc = base_open(&other, path, &err);
	if (rc == 0)
		rc = is_same(layer, &other);
	base_close(&other);
	return rc > 0 || rc == -EACCES || rc == -EPERM || rc == -EIO || rc == -ENOMEM;
}

/* Is the file at path the base itself, perhaps by another name? */
static bool is_base(const struct layer *layer, const char *path)
{
	struct backing *first = backing_first_readable(layer->base);
	const struct stat *mine = backing_stat(first ? first : layer->base);
	struct stat status;

	if (layer->place && strcmp(layer->place, path) == 0)
		return true;
	return stat(path, &status) == 0 && status.st_dev == mine->st_dev &&
	       status.st_ino == mine->st_ino;
}

static void release_candidate(struct candidate_layer *candidate)
{
	if (candidate->dir >= 0)
		close(candidate->dir);
	free(candidate->path);
	free(candidate->place);
	*candidate = (struct candidate_layer){ .dir = -1 };
}

/* The layer in that directory, if it is of a base with this fingerprint and no mount uses it. */
static struct candidate_layer open_candidate(const struct layer *layer, const char *name)
{
	struct candidate_layer candidate = { .dir = -1 };

	if (asprintf(&candidate.path, "%s/%s", layer->state, name) < 0)
		candidate.path = NULL;
	if (candidate.path)
		candidate.dir = layer_open_locked(candidate.path, false);
	if (candidate.dir >= 0 &&
	    layer_label_check(candidate.dir, layer->base, layer->gguf, NULL) == 0) {
		candidate.place = layer_label_path(candidate.dir);
		candidate.changed = last_change(candidate.dir);
	} else {
		release_candidate(&candidate);
	}
	return candidate;
}

/* Note that this layer's base is another file. One that holds nothing is not worth a word. */
static void note_copy(struct layer_history *past, struct candidate_layer *candidate)
{
	if (!past->copy && candidate->changed.tv_sec) {
		past->copy = candidate->place;
		past->copy_layer = candidate->path;
		candidate->place = candidate->path = NULL;
	}
}

/* Can other users have put anything into it? Then it is left alone. One that holds nothing is not
 * worth a word. */
static bool is_doubtful(struct layer_history *past, struct candidate_layer *candidate)
{
	const char *why = layer_trust_doubt(candidate->dir);

	if (why && !past->doubt && candidate->changed.tv_sec) {
		past->doubt = why;
		past->doubtful = candidate->path;
		candidate->path = NULL;
	}
	return why != NULL;
}

/* Keep the newer one of both, and let the other one go. */
static void choose(struct layer *layer, struct candidate_layer *best, struct candidate_layer *other)
{
	if (best->dir < 0 || is_earlier(&best->changed, &other->changed)) {
		const struct candidate_layer swapped = *best;

		*best = *other;
		*other = swapped;
	}
	layer->past.older += other->dir >= 0 && other->changed.tv_sec;
}

/* Is it one of the private layers of the base with that key: KEY, KEY-2, KEY-3, ...? */
static bool is_private_name(const char *name, const char *key)
{
	const size_t n = strlen(key);

	return strncmp(name, key, n) == 0 && (name[n] == '\0' || name[n] == '-');
}

static struct candidate_layer find_newest(struct layer *layer)
{
	struct candidate_layer best = { .dir = -1 };
	char key[FINGERPRINT_KEY];
	DIR *state = opendir(layer->state);
	const struct dirent *entry;

	if (state && fingerprint_key(layer->base, key) == 0)
		while ((entry = readdir(state))) {
			struct candidate_layer found;

			if (!is_private_name(entry->d_name, key))
				continue;
			found = open_candidate(layer, entry->d_name);
			if (found.dir < 0)
				continue;
			if (is_doubtful(&layer->past, &found))
				;
			else if (!found.place || is_base(layer, found.place) ||
				 !is_copy(layer, found.place))
				choose(layer, &best, &found);
			else
				note_copy(&layer->past, &found);
			release_candidate(&found);
		}
	if (state)
		closedir(state);
	return best;
}

void layer_recover_private(struct layer *layer)
{
	struct candidate_layer newest = find_newest(layer);

	if (newest.dir < 0)
		return;
	/* From now on it is this file's, also where that is moved again. Where the disk refuses
	 * that, the label stays as it was, which is no worse than before. */
	if (layer->place && (!newest.place || strcmp(newest.place, layer->place) != 0))
		layer_label_replace(newest.dir, layer->base, layer->gguf, layer->place);
	layer->past.changed = newest.changed;
	layer->dir = newest.dir;
	layer->path = newest.path;
	free(newest.place);
}
