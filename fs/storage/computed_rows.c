/* SPDX-License-Identifier: MIT */
/* rows.c - see rows.h. */
#include "fs/storage/computed_rows.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* So many rows of which only a part was asked for are kept; a row has one place among them. */
#define KEPT 4u

#define NO_ROW UINT64_MAX

struct kept {
	pthread_mutex_t lock; /* held while the row is made: whoever else wants it waits */
	uint64_t row;
	uint8_t *bytes; /* NULL: there was none yet */
};

struct rows {
	struct row_source source;
	struct kept kept[KEPT];
};

static void release(void *context)
{
	struct rows *rows = context;

	for (unsigned i = 0; i < KEPT; i++) {
		pthread_mutex_destroy(&rows->kept[i].lock);
		free(rows->kept[i].bytes);
	}
	rows->source.release(rows->source.context);
	free(rows);
}

static int make_kept(const struct rows *rows, struct kept *kept, bool spans, uint64_t row)
{
	const struct row_source *source = &rows->source;
	int rc;

	if (kept->row == row)
		return 0;
	if (!kept->bytes)
		kept->bytes = malloc(source->length);
	if (!kept->bytes)
		return -ENOMEM;
	kept->row = NO_ROW;
	rc = source->make(source->context, spans, row, 1, kept->bytes);
	if (rc == 0)
		kept->row = row;
	return rc;
}

/* n bytes of one row, of which skip precede them. */
static int read_part(struct rows *rows, bool spans, uint64_t row, size_t skip, size_t n,
		     uint8_t *bytes)
{
	struct kept *kept = &rows->kept[row % KEPT];
	int rc;

	pthread_mutex_lock(&kept->lock);
	rc = make_kept(rows, kept, spans, row);
	if (rc == 0)
		memcpy(bytes, kept->bytes + skip, n);
	pthread_mutex_unlock(&kept->lock);
	return rc;
}

static int read_at(void *context, bool spans, void *bytes, size_t n, uint64_t offset)
{
	struct rows *rows = context;
	const struct row_source *source = &rows->source;
	const uint64_t size = source->n * source->length;
	uint8_t *to = bytes;

	if (offset > size || n > size - offset)
		return -EIO;
	while (n) {
		const uint64_t row = offset / source->length;
		const size_t skip = (size_t)(offset % source->length);
		size_t part = source->length - skip;
		int rc;

		if (skip == 0 && n >= source->length) {
			part = n - n % source->length;
			rc = source->make(source->context, spans, row, n / source->length, to);
		} else {
			part = part < n ? part : n;
			rc = read_part(rows, spans, row, skip, part, to);
		}
		if (rc < 0)
			return rc;
		to += part;
		offset += part;
		n -= part;
	}
	return 0;
}

static struct backing *part_at(void *context, uint64_t *offset, uint64_t *length)
{
	(void)context;
	(void)offset;
	(void)length;
	return NULL;
}

struct backing *rows_new(const struct row_source *source, const struct backing *of)
{
	struct rows *rows = NULL;
	struct stat stat = *backing_stat(of);

	if (source->n <= INT64_MAX / source->length)
		rows = calloc(1, sizeof(*rows));
	if (!rows) {
		source->release(source->context);
		return NULL;
	}
	rows->source = *source;
	for (unsigned i = 0; i < KEPT; i++) {
		pthread_mutex_init(&rows->kept[i].lock, NULL);
		rows->kept[i].row = NO_ROW;
	}
	stat.st_size = (off_t)(source->n * source->length);
	return backing_of_parts(&(struct backing_parts){ .read = read_at,
							 .part = part_at,
							 .release = release,
							 .context = rows,
							 .made = true },
				backing_path(of), &stat);
}
