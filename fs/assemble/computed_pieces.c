/* SPDX-License-Identifier: MIT */
/* computed_pieces.c - see computed_pieces.h. */
#include "fs/assemble/computed_pieces.h"
#include "fs/assemble/copy_range.h"
#include "fs/storage/view.h"
#include "fs/util/parallel.h"
#include "fs/util/pool.h"
#include "fs/util/progress.h"

#include <errno.h>
#include <stdlib.h>

/* Pieces for each thread before a write, small enough that all threads end at about the same
 * time. */
#define PIECES 4
#define PIECE  (COPY_RANGE_BUFFER / PIECES)

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static int make_piece(void *context, size_t i)
{
	const struct computed_pieces *pieces = context;
	const uint64_t skip = i * PIECE, from = pieces->from + skip;
	const size_t n = (size_t)least(pieces->to - from, PIECE);
	const ssize_t got = view_read_cancellable(pieces->view, pieces->bytes + skip, n, from,
						  pieces->share->progress->cancel);

	if (progress_is_cancelled(pieces->share->progress))
		return -EINTR;
	if (got == (ssize_t)n)
		return 0;
	return got == -ENOMEM ? -ENOMEM : -ENODATA;
}

int computed_pieces_write(struct computed_pieces *pieces, uint64_t from, uint64_t to)
{
	const unsigned threads = parallel_threads();
	int rc = 0;

	if (!pieces->bytes)
		pieces->bytes = malloc(threads * COPY_RANGE_BUFFER);
	if (!pieces->bytes)
		return -ENOMEM;
	/* Without a pool this thread works alone. */
	if (!pieces->pool && threads > 1 && to - from > PIECE)
		pieces->pool = pool_new(threads - 1);
	for (; rc == 0 && from < to; from = pieces->to) {
		pieces->from = from;
		pieces->to = least(to, from + threads * COPY_RANGE_BUFFER);
		rc = parallel_run(pieces->pool, threads - 1,
				  (size_t)((pieces->to - from + PIECE - 1) / PIECE), make_piece,
				  pieces);
		if (rc == 0)
			rc = copy_range_write(pieces->share, pieces->bytes,
					      (size_t)(pieces->to - from), from);
	}
	return rc;
}

void computed_pieces_release(struct computed_pieces *pieces)
{
	if (pieces->pool)
		pool_free(pieces->pool);
	free(pieces->bytes);
}
