/* SPDX-License-Identifier: MIT */
/* layer_database.c - finding, opening and making the database of a layer. A new one is made under
 * another name, so that every file layer.db is complete. */
#include "fs/layer/blobs.h"
#include "fs/layer/database.h"
#include "fs/layer/layer_base.h"
#include "fs/layer/layer_internal.h"
#include "fs/layer/layer_open.h"
#include "fs/util/disk.h"
#include "gguf/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Check the file types before SQLite opens the files, because it would wait for the other end of a
 * FIFO. A rollback journal is refused: mounts leave none, anybody may have made it, and it names a
 * file that SQLite would delete. */
static int check_files(int dir, struct error *err)
{
	static const char *const files[] = { DATABASE "-wal", DATABASE };
	struct stat stat;
	int rc = 0;

	if (layer_has_file(dir, "LAYER") > 0)
		return error_set(
			err, ENOTSUP, ERROR_NO_OFFSET,
			"this layer is of organfs 0.2 or older: mount it with that version "
			"and assemble its model");
	if (layer_has_file(dir, DATABASE "-journal") != 0)
		return error_set(err, EBADMSG, ERROR_NO_OFFSET,
				 "another program has left " DATABASE "-journal: if you trust that "
				 "file, let sqlite3 open " DATABASE " once, else remove it");
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		rc = fstatat(dir, files[i], &stat, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
		if (rc == 0 && !S_ISREG(stat.st_mode))
			return error_set(err, EBADMSG, ERROR_NO_OFFSET,
					 "a file of its database is not a regular file");
		if (rc < 0 && rc != -ENOENT)
			break;
	}
	return rc < 0 ? error_errno(err, -rc) : 0;
}

static bool has_log(int dir)
{
	struct stat stat;

	return fstatat(dir, DATABASE "-wal", &stat, AT_SYMLINK_NOFOLLOW) == 0 && stat.st_size > 0;
}

/* Sync the log that a killed mount left. SQLite takes a transaction in the log for committed even
 * if the mount was killed before the sync, so make it durable before this mount shows it. */
static int sync_log(int dir, struct error *err)
{
	const int fd = openat(dir, DATABASE "-wal", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	int rc = fd < 0 && errno != ENOENT ? -errno : 0;

	if (fd >= 0 && fdatasync(fd) < 0)
		rc = -errno;
	if (fd >= 0)
		close(fd);
	if (fd >= 0 && rc == 0)
		rc = disk_sync_directory(dir);
	return rc < 0 ? error_errno(err, -rc) : 0;
}

/* Open a file in the directory, which may have been renamed since its opening. */
static struct database *open_in(int dir, const char *name, enum database_access access, bool checks,
				struct error *err)
{
	char link[32], *real, *file = NULL;
	struct database *database = NULL;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
	real = realpath(link, NULL);
	if (!real || asprintf(&file, "%s/%s", real, name) < 0)
		error_errno(err, errno);
	else
		database = database_open(file, access, checks, err);
	free(file);
	free(real);
	return database;
}

/* Checkpoint the log that a killed mount left: read-only databases are opened without a log. */
static int finish_log(int dir, struct error *err)
{
	struct error why = { 0 };

	if (has_log(dir))
		database_close(open_in(dir, DATABASE, DATABASE_WRITE, true, &why));
	if (!has_log(dir))
		return 0;
	if (why.code == EBUSY)
		return error_set(err, EBUSY, ERROR_NO_OFFSET,
				 "another mount writes " DATABASE "-wal back: try again");
	/* A layer of a later version keeps its log. */
	if (why.code == ENOTSUP)
		return error_set(err, why.code, why.offset, "%s", why.text);
	return error_set(err, EROFS, ERROR_NO_OFFSET,
			 "a mount that was killed has left " DATABASE "-wal, which cannot be "
			 "written back here: mount the layer once where it can be written to");
}

struct database *layer_database_at(int dir, bool read_only, bool checks, struct error *err)
{
	struct error why = { 0 };
	struct database *database;

	if (check_files(dir, err) < 0)
		return NULL;
	if (read_only && finish_log(dir, err) < 0)
		return NULL;
	if (!read_only && checks && sync_log(dir, err) < 0)
		return NULL;
	if (read_only)
		return open_in(dir, DATABASE, DATABASE_READ, checks, err);
	database = open_in(dir, DATABASE, DATABASE_WRITE, checks, &why);
	/* SQLite fails with ENOENT if no inode is left for the log. The reserve has one. */
	if (!database && why.code == ENOENT && unlinkat(dir, RESERVE, 0) == 0)
		database = open_in(dir, DATABASE, DATABASE_WRITE, checks, &why);
	if (!database)
		error_set(err, why.code, why.offset, "%s", why.text);
	return database;
}

struct database *layer_open_database(struct layer *layer, struct error *err)
{
	const bool first = !layer->is_checked;
	struct database *database =
		layer_database_at(layer->dir, layer->manner.read_only, first, err);
	int rc = database ? 0 : -err->code;

	layer->has_reserve &= layer_has_file(layer->dir, RESERVE) > 0;
	if (rc == 0 && first)
		rc = layer_base_check(database, layer->base, layer->gguf, err);
	if (rc == 0 && layer->blobs < 0 && (rc = blobs_open(layer, database)) < 0)
		layer_unread(layer, -rc, err);
	layer->is_checked |= rc == 0;
	if (rc == 0)
		return database;
	database_close(database);
	return NULL;
}

int layer_take_up(struct layer *layer, struct error *err)
{
	struct layer_queue *queue = &layer->queue;
	int rc;

	queue->database = layer_open_database(layer, err);
	if (!queue->database)
		return -err->code;
	rc = layer_read_times(layer, queue->database);
	if (rc < 0)
		return layer_unread(layer, -rc, err);
	pthread_mutex_lock(&layer->lock);
	layer->exists = true;
	pthread_mutex_unlock(&layer->lock);
	return 0;
}

/* Make the file with mode 0600, because SQLite would make it readable for others, and fill it. */
static int make_file(struct layer *layer, struct error *err)
{
	const int fd = layer_create_file(layer->dir, DATABASE_NEW);
	struct database *database;
	int rc = fd;

	unlinkat(layer->dir, DATABASE_NEW "-wal", 0);
	unlinkat(layer->dir, DATABASE_NEW "-journal", 0);
	if (fd >= 0) {
		close(fd);
		database = open_in(layer->dir, DATABASE_NEW, DATABASE_MAKE, false, err);
		if (!database)
			return -err->code;
		rc = layer_base_make(database, layer->base, layer->gguf, layer->place);
		if (rc == 0)
			rc = database_empty_log(database);
		database_close(database);
	}
	if (rc == 0 && mkdirat(layer->dir, "blobs", 0700) < 0 && errno != EEXIST)
		rc = -errno;
	return rc < 0 ? error_errno(err, -rc) : 0;
}

int layer_make_database(struct layer *layer, struct error *err)
{
	int rc = make_file(layer, err);

	if (rc < 0)
		return rc;
	if (renameat(layer->dir, DATABASE_NEW, layer->dir, DATABASE) < 0)
		rc = -errno;
	if (rc == 0)
		rc = disk_sync_directory(layer->dir);
	return rc < 0 ? error_errno(err, -rc) : layer_take_up(layer, err);
}
