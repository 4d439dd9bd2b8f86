/* SPDX-License-Identifier: MIT */
/* layer_adapters.c - see layer_adapters.h. */
#include "fs/layer/layer_adapters.h"
#include "fs/layer/layer_open.h"
#include "fs/layer/layer_transaction.h"
#include "fs/util/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int end_transaction(struct layer_transaction *change, int rc)
{
	rc = layer_transaction_end(change, rc < 0 ? rc : layer_transaction_sync(change));
	close(change->dir);
	return rc;
}

/* Put the stage in place. */
static int put(struct layer *layer, unsigned number, const char *file)
{
	struct layer_transaction change = { .layer = layer, .number = number };
	char staged[LAYER_STAGE_NAME];
	int rc;

	change.dir = layer_open_directory(layer->dir, class_name(CLASS_ADAPTERS), true);
	if (change.dir >= 0) {
		layer_stage_name(number, "", staged);
		rc = end_transaction(&change, layer_transaction_put(&change, staged, file));
	} else {
		rc = change.dir;
	}
	if (rc < 0)
		layer_unstage(layer, number);
	return rc;
}

int layer_write_setting(struct layer *layer, const char *file, const char *text,
			const struct timespec *mtime)
{
	unsigned number;
	const int rc = layer_stage_text(layer, CLASS_ADAPTERS, text, mtime, &number);

	return rc < 0 ? rc : put(layer, number, file);
}

int layer_link_adapter(struct layer *layer, const char *file, const char *target, uid_t uid,
		       gid_t gid, const struct timespec *mtime)
{
	unsigned number;
	const int rc = layer_stage_link(layer, target, uid, gid, mtime, &number);

	return rc < 0 ? rc : put(layer, number, file);
}

int layer_remove_adapter(struct layer *layer, const char *const *files, size_t n)
{
	struct layer_transaction change = { .layer = layer };
	int rc;

	/* Without a directory it says nothing about anything. */
	if (layer->dir < 0)
		return 0;
	change.dir = layer_open_directory(layer->dir, class_name(CLASS_ADAPTERS), false);
	if (change.dir < 0)
		return change.dir == -ENOENT ? 0 : change.dir;
	rc = layer_unused_stage_number(layer, &change.number);
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = layer_transaction_remove(&change, files[i]);
	return end_transaction(&change, rc);
}

static bool ends_with(const char *name, const char *end)
{
	const size_t n = strlen(name), m = strlen(end);

	return n > m && strcmp(name + n - m, end) == 0;
}

/* Is it a name that the calls above are given? Those of organs end otherwise. */
static bool is_ours(const char *file)
{
	return file[0] != '.' &&
	       (ends_with(file, ".gguf") || ends_with(file, ".scale") || ends_with(file, ".alpha"));
}

/* Returns 0 or -errno. */
static int read_text(int dir, struct layer_adapter *what, char text[LAYER_SETTING_MAX + 1])
{
	const int fd = layer_open_file(dir, what->file);
	const ssize_t n = fd < 0 ? fd : io_read(fd, text, LAYER_SETTING_MAX, 0);

	if (fd >= 0)
		close(fd);
	if (n < 0)
		return (int)n;
	text[n] = '\0';
	what->text = text;
	return 0;
}

/* What the file holds. Returns 0 or -errno. */
static int read_file(int dir, struct layer_adapter *what, char target[PATH_MAX],
		     char text[LAYER_SETTING_MAX + 1])
{
	ssize_t n;

	if (fstatat(dir, what->file, &what->stat, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (S_ISREG(what->stat.st_mode))
		return read_text(dir, what, text);
	if (!S_ISLNK(what->stat.st_mode))
		return 0;
	n = readlinkat(dir, what->file, target, PATH_MAX - 1);
	if (n < 0)
		return -errno;
	target[n] = '\0';
	what->target = target;
	return 0;
}

static int each_file(struct layer *layer, int dir, const char *file, layer_adapter_fn *found,
		     void *context, struct error *err)
{
	struct layer_adapter what = { .file = file };
	char target[PATH_MAX], text[LAYER_SETTING_MAX + 1];
	int rc;

	if (!is_ours(file))
		return 0;
	rc = read_file(dir, &what, target, text);
	return layer_is_unread(-rc)
		       ? layer_unread(layer, class_name(CLASS_ADAPTERS), file, -rc, err)
		       : found(context, &what, err);
}

int layer_each_adapter(struct layer *layer, layer_adapter_fn *found, void *context,
		       struct error *err)
{
	int listed, rc = 0;
	DIR *entries = layer_list(layer->dir, class_name(CLASS_ADAPTERS), &listed);
	const char *entry;

	while ((entry = layer_list_next(entries, &listed)))
		if (rc == 0)
			rc = each_file(layer, dirfd(entries), entry, found, context, err);
	return rc == 0 && listed < 0
		       ? layer_unread(layer, class_name(CLASS_ADAPTERS), NULL, -listed, err)
		       : rc;
}
