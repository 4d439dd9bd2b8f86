/* SPDX-License-Identifier: MIT */
/* computed_rows.c - see computed_rows.h. */
#include "fs/storage/computed_rows.h"
#include "fs/storage/backing.h"
#include "fs/util/cond_poll.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Rows cached because a read requested only a part. Row i has the place i % CACHED_ROWS. */
#define CACHED_ROWS 4u

/* An interrupted thread polls so often for its row, for about a second, because most rows take
 * moments and most signals do not end the program. */
#define GRACE_POLLS 50u

#define NO_ROW UINT64_MAX

/* The lock is released during a computation, so that waiting threads can be interrupted. */
struct cached_row {
	pthread_mutex_t lock; /* protects the members below, except bytes while busy */
	pthread_cond_t idle;  /* signalled when busy becomes false */
	bool busy;	      /* a thread computes a row; others wait */
	uint64_t row;
	uint8_t *bytes; /* NULL: not allocated yet */
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
		pthread_cond_destroy(&rows->cached[i].idle);
		free(rows->cached[i].bytes);
	}
	rows->source.release(rows->source.context);
	free(rows);
}

static bool is_stopped(const atomic_bool *stop)
{
	return stop && atomic_load(stop);
}

/* Called with the lock held, which is released during the computation. */
static int compute_cached(const struct computed_rows *rows, struct cached_row *cached,
			  unsigned flags, uint64_t row, const atomic_bool *stop)
{
	const struct computed_rows_source *source = &rows->source;
	int rc;

	if (!cached->bytes)
		cached->bytes = malloc(source->length);
	if (!cached->bytes)
		return -ENOMEM;
	cached->row = NO_ROW;
	cached->busy = true;
	pthread_mutex_unlock(&cached->lock);
	rc = source->make(source->context, flags, row, 1, cached->bytes, stop);
	pthread_mutex_lock(&cached->lock);
	cached->busy = false;
	if (rc == 0)
		cached->row = row;
	pthread_cond_broadcast(&cached->idle);
	return rc;
}

/* Read n bytes of one row, after its first `skip` bytes. */
static int read_part(struct computed_rows *rows, unsigned flags, uint64_t row, size_t skip,
		     size_t n, uint8_t *bytes, const atomic_bool *stop)
{
	struct cached_row *cached = &rows->cached[row % CACHED_ROWS];
	int rc = 0;

	pthread_mutex_lock(&cached->lock);
	for (unsigned left = GRACE_POLLS; cached->busy && left; left -= is_stopped(stop))
		cond_poll_wait(&cached->idle, &cached->lock);
	if (cached->busy)
		rc = -EINTR;
	else if (cached->row != row)
		rc = compute_cached(rows, cached, flags, row, stop);
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

	if (offset > size || n > size - offset)
		return -EIO;
	while (n) {
		const uint64_t row = offset / source->length;
		const size_t skip = (size_t)(offset % source->length);
		size_t part = source->length - skip;
		int rc;

		if (skip == 0 && n >= source->length) {
			part = n - n % source->length;
			rc = source->make(source->context, flags, row, n / source->length, to,
					  stop);
		} else {
			part = part < n ? part : n;
			rc = read_part(rows, flags, row, skip, part, to, stop);
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
		cond_poll_init(&rows->cached[i].idle);
		rows->cached[i].row = NO_ROW;
	}
	stat.st_size = (off_t)(source->n * source->length);
	return backing_from_ops(&(struct backing_ops){ .read = read_at,
						       .release = release,
						       .context = rows,
						       .computed = true },
				backing_path(of), &stat);
}
