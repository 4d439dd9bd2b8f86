/* SPDX-License-Identifier: MIT */
/* blobs.c - see blobs.h. */
#include "fs/layer/blobs.h"
#include "fs/layer/database.h"
#include "fs/layer/layer_internal.h"
#include "fs/layer/layer_open.h"
#include "fs/storage/backing.h"
#include "fs/util/array_grown.h"
#include "fs/util/disk.h"
#include "gguf/error.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RESERVE_BYTES ((off_t)1 << 20)
#define RESERVE_LEAST ((off_t)128 << 10)

/* numbers are assigned in sequence, so no layer reaches this one */
#define NUMBER_MOST ((uint64_t)1 << 62)

#define NAME_TEXT 24

static const char *name_of(uint64_t number, char text[NAME_TEXT])
{
	snprintf(text, NAME_TEXT, "%" PRIu64, number);
	return text;
}

int blob_create(struct layer *layer, uint64_t number)
{
	char name[NAME_TEXT];

	return layer_create_file(layer->blobs, name_of(number, name));
}

void blob_remove(struct layer *layer, uint64_t number)
{
	char name[NAME_TEXT];

	/* The failed transaction may still be in the log, and the next mount may see it committed,
	 * so keep its files. */
	if (atomic_load(&layer->queue.failed))
		return;
	unlinkat(layer->blobs, name_of(number, name), 0);
}

int blob_link(struct layer *from, uint64_t number, struct layer *to, uint64_t new_number)
{
	char name[NAME_TEXT], new_name[NAME_TEXT];

	return linkat(from->blobs, name_of(number, name), to->blobs, name_of(new_number, new_name),
		      0) < 0
		       ? -errno
		       : 0;
}

static int add_number(struct blob_numbers *list, uint64_t number)
{
	uint64_t *numbers = array_grown(list->numbers, list->n, &list->room, sizeof(*numbers));

	if (!numbers)
		return -ENOMEM;
	list->numbers = numbers;
	list->numbers[list->n++] = number;
	return 0;
}

/* The number in a file's name; 0: none. */
static uint64_t number_of(const char *name)
{
	char *end;
	uint64_t number;

	if (name[0] < '1' || name[0] > '9')
		return 0;
	errno = 0;
	number = strtoull(name, &end, 10);
	return errno || *end || number > INT64_MAX ? 0 : number;
}

/* Does a row name that file? */
static int has_row(struct database *database, uint64_t number)
{
	int64_t one;

	return database_number(database, &one,
			       "SELECT 1 FROM blob WHERE number = ? AND bytes IS NULL", "i",
			       (int64_t)number);
}

static int remove_orphans(struct layer *layer, struct database *database)
{
	int rc;
	DIR *entries = layer_list(layer->dir, "blobs", &rc);
	const char *entry;

	while ((entry = layer_list_next(entries, &rc))) {
		const uint64_t number = number_of(entry);

		/* Keep files of other programs. */
		if (!number || has_row(database, number) != 0)
			continue;
		/* The number is taken if the file cannot be removed, for example a directory. */
		if (number >= layer->next_blob && number < NUMBER_MOST / 2)
			layer->next_blob = number + 1;
		unlinkat(layer->blobs, entry, 0);
	}
	return rc;
}

/* Remove orphan files and find the first free number. */
static int take_stock(struct layer *layer, struct database *database)
{
	int64_t number;
	const int rc =
		database_number(database, &number, "SELECT coalesce(max(number), 0) FROM blob", "");

	if (rc < 0 || number < 0 || (uint64_t)number > NUMBER_MOST)
		return rc < 0 ? rc : -EBADMSG;
	layer->next_blob = (uint64_t)number + 1;
	return remove_orphans(layer, database);
}

int blobs_open(struct layer *layer, struct database *database)
{
	const bool read_only = layer->manner.read_only;
	int rc;

	if (!read_only && mkdirat(layer->dir, "blobs", 0700) < 0 && errno != EEXIST)
		return -errno;
	layer->blobs = openat(layer->dir, "blobs", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (layer->blobs < 0)
		return read_only && errno == ENOENT ? 0 : -errno;
	rc = read_only ? 0 : take_stock(layer, database);
	if (rc < 0) {
		/* The next call has to find a free number. */
		close(layer->blobs);
		layer->blobs = -1;
	}
	return rc;
}

uint64_t blob_next(struct layer *layer)
{
	uint64_t number;

	pthread_mutex_lock(&layer->lock);
	number = layer->next_blob++;
	pthread_mutex_unlock(&layer->lock);
	return number;
}

int blobs_sync(struct layer *layer)
{
	const int rc = disk_sync_directory(layer->blobs);

	if (rc == 0)
		layer->queue.has_new_file = false;
	return rc;
}

int blob_added(struct layer *layer, uint64_t number)
{
	struct layer_queue *queue = &layer->queue;

	queue->has_new_file = true;
	return queue->holds ? add_number(&queue->added, number) : 0;
}

void blobs_end_transaction(struct layer *layer, bool committed)
{
	struct layer_queue *queue = &layer->queue;
	const struct blob_numbers *gone = committed ? &queue->dropped : &queue->added;

	for (size_t i = 0; i < gone->n; i++)
		blob_remove(layer, gone->numbers[i]);
	queue->dropped.n = queue->added.n = 0;
}

void blobs_keep_reserve(struct layer *layer)
{
	int fd;

	if (layer->has_reserve || layer->dir < 0)
		return;
	fd = layer_create_file(layer->dir, RESERVE);
	if (fd < 0)
		return;
	/* A small disk may only have RESERVE_LEAST, enough to undo a few grafts. */
	layer->has_reserve = posix_fallocate(fd, 0, RESERVE_BYTES) == 0 ||
			     posix_fallocate(fd, 0, RESERVE_LEAST) == 0;
	close(fd);
	if (!layer->has_reserve)
		unlinkat(layer->dir, RESERVE, 0);
}

void blobs_give_reserve(struct layer *layer)
{
	layer->has_reserve = false;
	unlinkat(layer->dir, RESERVE, 0);
}

int blob_drop(struct layer *layer, struct database *database, uint64_t number)
{
	int64_t is_file;
	const int rc = database_number(database, &is_file,
				       "DELETE FROM blob WHERE number = ?1 AND NOT EXISTS"
				       " (SELECT 1 FROM slot WHERE blob = ?1)"
				       " RETURNING bytes IS NULL",
				       "i", (int64_t)number);

	return rc > 0 && is_file ? add_number(&layer->queue.dropped, number) : rc < 0 ? rc : 0;
}

int blob_read(sqlite3_stmt *row, int first, struct blob *blob)
{
	const char *form = database_text(row, first + 1), *hash = database_text(row, first + 3);
	const void *bytes = sqlite3_column_blob(row, first + 4);
	const size_t n = (size_t)sqlite3_column_bytes(row, first + 4);

	if (!form || !hash || !xxh128_is_text(hash))
		return -EBADMSG;
	*blob = (struct blob){ .number = (uint64_t)sqlite3_column_int64(row, first),
			       .size = (uint64_t)sqlite3_column_int64(row, first + 2),
			       .is_compressed = form[0] == 'z',
			       .is_inline = sqlite3_column_type(row, first + 4) != SQLITE_NULL };
	strcpy(blob->xxh128, hash);
	/* The size in a row is untrusted. */
	if (!blob->is_inline || n != blob->size || n > BLOB_INLINE_MOST)
		return 0;
	blob->bytes = malloc(n + 1);
	if (blob->bytes && n)
		memcpy(blob->bytes, bytes, n);
	return blob->bytes ? 0 : -ENOMEM;
}

/* The bytes of a row, kept in memory. */
struct row_bytes {
	struct backing *self; /* borrowed */
	size_t size;
	uint8_t *bytes;
};

static int read_bytes(void *context, unsigned flags, void *bytes, size_t n, uint64_t offset,
		      const atomic_bool *stop)
{
	const struct row_bytes *row = context;

	(void)flags;
	(void)stop;
	if (offset > row->size || n > row->size - offset)
		return -EIO;
	memcpy(bytes, row->bytes + offset, n);
	return 0;
}

static struct backing *part_of_row(void *context, uint64_t *offset, uint64_t *length)
{
	const struct row_bytes *row = context;

	(void)offset;
	(void)length;
	return row->self;
}

static void release_bytes(void *context)
{
	struct row_bytes *row = context;

	free(row->bytes);
	free(row);
}

/* A unique inode for each row, in all layers. */
static struct stat stat_of(const struct row_bytes *row, const struct timespec *mtime)
{
	return (struct stat){ .st_mode = S_IFREG | 0600,
			      .st_nlink = 1,
			      .st_ino = (ino_t)(uintptr_t)row,
			      .st_size = (off_t)row->size,
			      .st_mtim = *mtime };
}

static struct backing *row_backing(struct blob *blob, const char *path,
				   const struct timespec *mtime, struct error *err)
{
	struct row_bytes *row = calloc(1, sizeof(*row));
	struct backing *file = NULL;
	struct stat stat;

	if (!blob->bytes) {
		free(row);
		error_set(err, EBADMSG, ERROR_NO_OFFSET,
			  "blob %" PRIu64 " differs in size from its row in layer.db",
			  blob->number);
		return NULL;
	}
	if (row) {
		row->size = (size_t)blob->size;
		row->bytes = blob->bytes;
		blob->bytes = NULL;
		stat = stat_of(row, mtime);
		file = backing_from_ops(&(struct backing_ops){ .read = read_bytes,
							       .part = part_of_row,
							       .release = release_bytes,
							       .context = row },
					path, &stat);
	}
	if (file)
		row->self = file;
	else
		error_errno(err, ENOMEM);
	return file;
}

/* A row without its file is an error, not an empty slot. */
static struct backing *file_backing(struct layer *layer, const struct blob *blob, const char *path,
				    struct error *err)
{
	char name[NAME_TEXT], place[PATH_MAX + NAME_TEXT + 8];
	struct backing *file;
	const int fd = layer->blobs < 0
			       ? -ENOENT
			       : layer_open_file(layer->blobs, name_of(blob->number, name));

	if (fd < 0) {
		error_set(err, layer_is_unread(-fd) ? -fd : EBADMSG, ERROR_NO_OFFSET,
			  "blobs/%" PRIu64 ": %s", blob->number, layer_open_error(fd));
		return NULL;
	}
	file = blob->is_compressed ? backing_fdopen_zstd(fd, path, layer->manner.cache, err)
				   : backing_fdopen(fd, path, err);
	if (file && backing_size(file) != blob->size) {
		backing_unref(file);
		error_set(err, EBADMSG, ERROR_NO_OFFSET,
			  "blobs/%s differs in size from its row in layer.db", name);
		return NULL;
	}
	snprintf(place, sizeof(place), "%s/blobs/%" PRIu64, layer_path(layer), blob->number);
	if (!file || backing_set_place(file, place))
		return file;
	backing_unref(file);
	error_errno(err, ENOMEM);
	return NULL;
}

struct backing *blob_backing(struct layer *layer, struct blob *blob, enum organ_class klass,
			     const char *name, const struct timespec *mtime, struct error *err)
{
	char path[PATH_MAX + NAME_MAX + 32];
	struct backing *file;

	snprintf(path, sizeof(path), "%s/%s/%s.bin", layer_path(layer), class_name(klass), name);
	file = blob->is_inline ? row_backing(blob, path, mtime, err)
			       : file_backing(layer, blob, path, err);
	free(blob->bytes);
	blob->bytes = NULL;
	if (file)
		backing_set_log(file, layer->manner.log);
	return file;
}
