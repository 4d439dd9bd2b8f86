/* SPDX-License-Identifier: MIT */
/* layer_transaction.c - see layer_transaction.h. */
#include "fs/layer/layer_transaction.h"
#include "fs/util/disk.h"
#include "fs/util/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The next step, to be counted once it is done. NULL: there are too many. */
static struct layer_step *next_step(struct layer_transaction *change, const char *file)
{
	struct layer_step *step = &change->steps[change->n];

	if (change->n == LAYER_TRANSACTION_STEPS || strlen(file) >= sizeof(step->file))
		return NULL;
	snprintf(step->file, sizeof(step->file), "%s", file);
	return step;
}

static void name_aside(const struct layer_transaction *change, struct layer_step *step)
{
	snprintf(step->staged, sizeof(step->staged), ".stage/%u.%u", change->number, change->n);
}

/* On a filesystem that cannot exchange two files. What was in place can come back where there are
 * hard links. */
static int put_over(struct layer_transaction *change, struct layer_step *step, const char *staged)
{
	const int dir = change->dir, layer = change->layer->dir;
	bool aside;

	name_aside(change, step);
	aside = linkat(dir, step->file, layer, step->staged, 0) == 0;
	if (renameat(layer, staged, dir, step->file) < 0) {
		const int rc = -errno;

		if (aside)
			unlinkat(layer, step->staged, 0);
		return rc;
	}
	step->kind = STEP_ASIDE;
	change->n += aside;
	return 0;
}

int layer_transaction_put(struct layer_transaction *change, const char *staged, const char *file)
{
	const int dir = change->dir, layer = change->layer->dir;
	struct layer_step *step = next_step(change, file);
	struct stat there;

	if (!step)
		return -ENAMETOOLONG;
	snprintf(step->staged, sizeof(step->staged), "%s", staged);
	/* Mostly there is nothing of that name, and one call does it. */
	if (renameat2(layer, staged, dir, file, RENAME_NOREPLACE) == 0) {
		step->kind = STEP_PUT;
	} else if (fstatat(dir, file, &there, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno != ENOENT || renameat(layer, staged, dir, file) < 0)
			return -errno;
		step->kind = STEP_PUT;
	} else if (S_ISDIR(there.st_mode)) {
		return -EISDIR;
	} else if (renameat2(layer, staged, dir, file, RENAME_EXCHANGE) == 0) {
		step->kind = STEP_EXCHANGE;
	} else if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP) {
		return -errno;
	} else {
		return put_over(change, step, staged);
	}
	change->n++;
	return 0;
}

static int create(struct layer_transaction *change, const char *file)
{
	struct layer_step *step = next_step(change, file);

	if (!step)
		return -ENAMETOOLONG;
	step->kind = STEP_PUT;
	name_aside(change, step);
	if (mknodat(change->dir, file, S_IFREG | 0600, 0) < 0)
		return -errno;
	change->n++;
	return 0;
}

int layer_transaction_link(struct layer_transaction *change, const char *from, const char *file)
{
	struct layer_step *step = next_step(change, file);

	if (!step)
		return -ENAMETOOLONG;
	step->kind = STEP_PUT;
	name_aside(change, step);
	if (linkat(change->layer->dir, from, change->dir, file, 0) < 0)
		return -errno;
	change->n++;
	return 0;
}

int layer_transaction_create(struct layer_transaction *change, const char *file)
{
	int rc = create(change, file);
	struct stat there;

	if (rc != -EEXIST)
		return rc;
	if (fstatat(change->dir, file, &there, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (S_ISREG(there.st_mode))
		return 0;
	/* A layer may come from elsewhere, with a link, say, of that name. */
	rc = S_ISDIR(there.st_mode) ? -EISDIR : layer_transaction_remove(change, file);
	return rc < 0 ? rc : create(change, file);
}

int layer_transaction_remove(struct layer_transaction *change, const char *file)
{
	struct layer_step *step = next_step(change, file);
	struct stat there;

	if (!step)
		return -ENAMETOOLONG;
	/* Mostly it is not there. A rename between two directories that finds nothing still waits
	 * for all others of the filesystem. */
	if (fstatat(change->dir, file, &there, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
		return 0;
	step->kind = STEP_ASIDE;
	name_aside(change, step);
	if (renameat(change->dir, file, change->layer->dir, step->staged) == 0)
		change->n++;
	else if (errno != ENOENT)
		return -errno;
	return 0;
}

int layer_transaction_sync(struct layer_transaction *change)
{
	/* An fsync() of a directory that was not changed may write nothing, and stands for none. */
	return layer_group_sync(&change->layer->group, change->n ? change->dir : -1,
				layer_is_ordered(change->layer));
}

int layer_transaction_sync_later(struct layer_transaction *change)
{
	if (!change->n)
		return 0;
	if (!layer_is_ordered(change->layer))
		return layer_transaction_sync(change);
	return layer_transaction_leave(change);
}

int layer_transaction_leave(struct layer_transaction *change)
{
	return layer_group_sync_later(&change->layer->group, change->dir,
				      layer_is_ordered(change->layer));
}

static int undo_step(const struct layer_transaction *change, const struct layer_step *step)
{
	const int dir = change->dir, layer = change->layer->dir;

	switch (step->kind) {
	case STEP_EXCHANGE:
		return renameat2(layer, step->staged, dir, step->file, RENAME_EXCHANGE);
	case STEP_PUT:
		return renameat(dir, step->file, layer, step->staged);
	case STEP_ASIDE:
		break;
	}
	return renameat(layer, step->staged, dir, step->file);
}

static void undo(struct layer_transaction *change)
{
	bool undone = true;

	while (change->n)
		undone &= undo_step(change, &change->steps[--change->n]) == 0;
	undone &= disk_sync_directory(change->dir) == 0;
	if (!undone && change->layer->manner.log)
		log_add(change->layer->manner.log,
			"%s: %s: what was refused could not be taken back; the next mount may find "
			"it there",
			layer_path(change->layer), change->steps[0].file);
}

int layer_transaction_end(struct layer_transaction *change, int rc)
{
	if (rc < 0 && change->n)
		undo(change);
	for (unsigned i = 0; i < change->n; i++)
		if (change->steps[i].kind != STEP_PUT)
			unlinkat(change->layer->dir, change->steps[i].staged, 0);
	change->n = 0;
	return rc;
}
