/* SPDX-License-Identifier: MIT */
/* computed_rows.c - see computed_rows.h. */
#include "fs/storage/computed_rows.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* So many rows of which only a part was asked for are cached; a row has one place among them. */
#define CACHED_ROWS 4u

#define NO_ROW UINT64_MAX

struct cached_row {
	pthread_mutex_t lock; /* held while the row is made: another thread that wants it waits */
	uint64_t row;
	uint8_t *bytes; /* NULL: there was none yet */
};

struct computed_rows {
	struct computed_rows_source source;
	struct cached_row cached[CACHED_ROWS];
};

static void release(void *context)
{
	struct computed_rows *rows = context;

	for (unsigned i = 0; i < CACHED_ROWS; i++) {
		pthread_mutex_destroy(&rows->cached[i].lock);
		free(rows->cached[i].bytes);
	}
	rows->source.release(rows->source.context);
	free(rows);
}

static int compute_cached(const struct computed_rows *rows, struct cached_row *cached,
			  unsigned flags, uint64_t row)
{
	const struct computed_rows_source *source = &rows->source;
	int rc;

	if (cached->row == row)
		return 0;
	if (!cached->bytes)
		cached->bytes = malloc(source->length);
	if (!cached->bytes)
		return -ENOMEM;
	cached->row = NO_ROW;
	rc = source->make(source->context, flags, row, 1, cached->bytes);
	if (rc == 0)
		cached->row = row;
	return rc;
}

/* n bytes of one row, of which skip precede them. */
static int read_part(struct computed_rows *rows, unsigned flags, uint64_t row, size_t skip,
		     size_t n, uint8_t *bytes)
{
	struct cached_row *cached = &rows->cached[row % CACHED_ROWS];
	int rc;

	pthread_mutex_lock(&cached->lock);
	rc = compute_cached(rows, cached, flags, row);
	if (rc == 0)
		memcpy(bytes, cached->bytes + skip, n);
	pthread_mutex_unlock(&cached->lock);
	return rc;
}

static int read_at(void *context, unsigned flags, void *bytes, size_t n, uint64_t offset,
		   const atomic_bool *stop)
{
	struct computed_rows *rows = context;
	const struct computed_rows_source *source = &rows->source;
	const uint64_t size = source->n * source->length;
	uint8_t *to = bytes;

	(void)stop;
	if (offset > size || n > size - offset)
		return -EIO;
	while (n) {
		const uint64_t row = offset / source->length;
		const size_t skip = (size_t)(offset % source->length);
		size_t part = source->length - skip;
		int rc;

		if (skip == 0 && n >= source->length) {
			part = n - n % source->length;
			rc = source->make(source->context, flags, row, n / source->length, to);
		} else {
			part = part < n ? part : n;
			rc = read_part(rows, flags, row, skip, part, to);
		}
		if (rc < 0)
			return rc;
		to += part;
		offset += part;
		n -= part;
	}
	return 0;
}

struct backing *computed_rows_new(const struct computed_rows_source *source,
				  const struct backing *of)
{
	struct computed_rows *rows = NULL;
	struct stat stat = *backing_stat(of);

	if (source->n <= INT64_MAX / source->length)
		rows = calloc(1, sizeof(*rows));
	if (!rows) {
		source->release(source->context);
		return NULL;
	}
	rows->source = *source;
	for (unsigned i = 0; i < CACHED_ROWS; i++) {
		pthread_mutex_init(&rows->cached[i].lock, NULL);
		rows->cached[i].row = NO_ROW;
	}
	stat.st_size = (off_t)(source->n * source->length);
	return backing_from_ops(&(struct backing_ops){ .read = read_at,
						       .release = release,
						       .context = rows,
						       .computed = true },
				backing_path(of), &stat);
}
