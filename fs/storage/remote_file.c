/* SPDX-License-Identifier: MIT */
/* remote_file.c - see remote_file.h. */
#include "fs/storage/remote_file.h"
#include "fs/storage/remote_answer.h"
#include "fs/storage/remote_cache.h"
#include "fs/storage/remote_http.h"
#include "gguf/error.h"

#include <curl/curl.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* most blocks per request */
#define WINDOW_MAX (((size_t)4 << 20) / REMOTE_BLOCK)

/* number of sequential readers that are tracked */
#define STREAMS 8u

/* gap between two pieces that is fetched with them, because a further request costs as much */
#define GAP_MAX ((uint64_t)4096)

/* most bytes per request of joined pieces */
#define JOINED_MAX ((uint64_t)1 << 20)

/* bytes of a witness, a place that is compared to identify the file; number of witnesses */
#define WITNESS	  ((size_t)4096)
#define WITNESSES 2

/* 1 January 1980, if the server names no time */
#define NO_TIME 315532800

/* A sequential reader. */
struct stream {
	uint64_t next, run; /* the next block; blocks read in sequence so far */
};

struct remote_file {
	struct remote_http *http;
	struct remote_cache *cache;
	uint64_t number;    /* of the file in the cache */
	uint8_t *witnesses; /* first content of the witnesses; NULL: answers identify the file */
	struct stat stat;
	pthread_mutex_t lock; /* protects the members below */
	unsigned oldest;
	struct stream streams[STREAMS];
};

static uint64_t size_of(const struct remote_file *file)
{
	return (uint64_t)file->stat.st_size;
}

/* Hash of a text, with a bit that no disk's device number has. */
static uint64_t hash_of(const char *text, size_t n)
{
	return XXH3_64bits(text, n) | (uint64_t)1 << 63;
}

static void fill_stat(struct remote_file *file, const char *url)
{
	const struct remote_answer *answer = remote_http_identity(file->http);
	const char *path = strchr(strstr(url, "//") + 2, '/');
	const size_t server = path ? (size_t)(path - url) : strlen(url);
	const time_t modified =
		answer->modified[0] ? curl_getdate(answer->modified, NULL) : (time_t)-1;

	file->stat.st_mode = S_IFREG | 0444;
	file->stat.st_nlink = 1;
	file->stat.st_dev = hash_of(url, server);
	file->stat.st_ino =
		hash_of(url, strlen(url)) ^ XXH3_64bits(answer->etag, strlen(answer->etag));
	file->stat.st_size = (off_t)answer->total;
	file->stat.st_blocks = (blkcnt_t)(answer->total / 512 + 1);
	file->stat.st_mtim.tv_sec = modified == (time_t)-1 ? NO_TIME : modified;
}

static struct remote_file *new_file(struct remote_cache *cache)
{
	struct remote_file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	pthread_mutex_init(&file->lock, NULL);
	file->cache = cache ? remote_cache_ref(cache) : remote_cache_new();
	if (!file->cache) {
		remote_file_close(file);
		return NULL;
	}
	file->number = remote_cache_add_file(file->cache);
	return file;
}

/* The first answer contains the first block. */
static void cache_head(struct remote_file *file, const uint8_t *head, size_t n)
{
	struct remote_block *block;
	size_t one = 1;

	if (remote_cache_get(file->cache, file->number, 0, &one, &block) == REMOTE_MISSING && one)
		remote_cache_fill(file->cache, file->number, 0, 1, head, n);
}

/* Read the witnesses: places in the middle and at the end of the file. */
static int read_witnesses(struct remote_file *file, uint8_t *bytes, const atomic_bool *stop,
			  struct error *err)
{
	const size_t n = size_of(file) < WITNESS ? (size_t)size_of(file) : WITNESS;
	const struct remote_range places[WITNESSES] = {
		{ (size_of(file) - n) / 2, n, bytes },
		{ size_of(file) - n, n, bytes + WITNESS },
	};

	return remote_http_get(file->http, places, WITNESSES, stop, err);
}

/* Compare the witnesses with their first content, so that earlier answers are known to be of the
 * file that was opened. Returns as remote_file_read(). */
static int check_witnesses(struct remote_file *file, const atomic_bool *stop, struct error *err)
{
	uint8_t *now = calloc(WITNESSES, WITNESS);
	int rc = now ? read_witnesses(file, now, stop, err) : error_errno(err, ENOMEM);

	if (rc == 0 && memcmp(now, file->witnesses, WITNESSES * WITNESS) != 0) {
		error_set(err, ESTALE, ERROR_NO_OFFSET,
			  "the file on the server was changed since it was opened");
		rc = -EIO;
	}
	free(now);
	return rc;
}

/* remote_http_get() for bytes that are certainly of the file that was opened. */
static int get(struct remote_file *file, const struct remote_range *ranges, size_t n,
	       const atomic_bool *stop, struct error *err)
{
	const int rc = remote_http_get(file->http, ranges, n, stop, err);

	return rc == 0 && file->witnesses ? check_witnesses(file, stop, err) : rc;
}

/* If answers do not identify the file, record the witnesses. */
static int note_witnesses(struct remote_file *file, struct error *err)
{
	const struct remote_answer *answer = remote_http_identity(file->http);

	if (answer->etag[0] || answer->modified[0])
		return 0;
	file->witnesses = calloc(WITNESSES, WITNESS);
	if (!file->witnesses)
		return error_errno(err, ENOMEM);
	return read_witnesses(file, file->witnesses, NULL, err);
}

struct remote_file *remote_file_open(const char *url, struct remote_cache *cache, struct error *err)
{
	struct remote_file *file = new_file(cache);
	uint8_t *head = malloc(REMOTE_BLOCK);
	size_t n = REMOTE_BLOCK;

	if (file && head)
		file->http =
			remote_http_open(url, remote_cache_interrupted(file->cache), head, &n, err);
	else
		error_errno(err, ENOMEM);
	if (file && file->http)
		fill_stat(file, url);
	if (file && file->http && note_witnesses(file, err) == 0) {
		cache_head(file, head, n);
		file->streams[0] = (struct stream){ 1, 1 };
	} else {
		remote_file_close(file);
		file = NULL;
	}
	free(head);
	return file;
}

void remote_file_close(struct remote_file *file)
{
	if (!file)
		return;
	if (file->cache)
		remote_cache_drop_file(file->cache, file->number);
	remote_cache_unref(file->cache);
	remote_http_close(file->http);
	free(file->witnesses);
	pthread_mutex_destroy(&file->lock);
	free(file);
}

const struct stat *remote_file_stat(const struct remote_file *file)
{
	return &file->stat;
}

/* Number of bytes of n blocks; the last block of the file may be short. */
static size_t length_of(const struct remote_file *file, uint64_t block, size_t n)
{
	const uint64_t left = size_of(file) - block * REMOTE_BLOCK;

	return left < n * REMOTE_BLOCK ? (size_t)left : n * REMOTE_BLOCK;
}

/* Number of blocks to fetch from an absent one on: the wanted ones, or half as many as this reader
 * has read in sequence, whichever is more. */
static size_t window(struct remote_file *file, uint64_t block, size_t wanted)
{
	const uint64_t blocks = (size_of(file) - 1) / REMOTE_BLOCK + 1;
	struct stream *stream = NULL;
	uint64_t n = wanted;

	pthread_mutex_lock(&file->lock);
	for (unsigned i = 0; i < STREAMS && !stream; i++)
		if (file->streams[i].next == block && block)
			stream = &file->streams[i];
	if (!stream) {
		stream = &file->streams[file->oldest++ % STREAMS];
		*stream = (struct stream){ 0 };
	}
	if (n < stream->run / 2)
		n = stream->run / 2;
	if (n > WINDOW_MAX)
		n = WINDOW_MAX;
	if (n > blocks - block)
		n = blocks - block;
	stream->next = block + n;
	stream->run += n;
	pthread_mutex_unlock(&file->lock);
	return (size_t)n;
}

/* Fetch n blocks that remote_cache_get() has assigned to this thread. Returns as
 * remote_file_read(). */
static int fetch(struct remote_file *file, uint64_t block, size_t n, const atomic_bool *stop,
		 struct error *err)
{
	const size_t length = length_of(file, block, n);
	struct remote_range range = { block * REMOTE_BLOCK, length, malloc(length) };
	int rc = range.bytes ? get(file, &range, 1, stop, err) : error_errno(err, ENOMEM);

	if (rc < 0)
		remote_cache_fail(file->cache, file->number, block, n, rc);
	else if (remote_cache_fill(file->cache, file->number, block, n, range.bytes,
				   length - (n - 1) * REMOTE_BLOCK) < 0)
		rc = error_errno(err, ENOMEM);
	free(range.bytes);
	return rc;
}

/* Get the block, of a read that needs `wanted` blocks; release it with remote_cache_put(). Returns
 * as remote_file_read(). */
static int get_block(struct remote_file *file, uint64_t number, size_t wanted,
		     struct remote_block **block, const atomic_bool *stop, struct error *err)
{
	int rc = 0;

	for (;;) {
		size_t n = 1;

		if (remote_http_is_stopped(file->http, stop))
			return -EINTR;
		if (remote_cache_peek(file->cache, file->number, number) == REMOTE_MISSING)
			n = window(file, number, wanted);
		switch (remote_cache_get(file->cache, file->number, number, &n, block)) {
		case REMOTE_PRESENT:
			return 0;
		case REMOTE_FETCHING:
			rc = remote_cache_wait(file->cache, file->number, number);
			if (rc < 0)
				error_set(err, -rc, ERROR_NO_OFFSET,
					  "another reader's request for these bytes failed");
			break;
		case REMOTE_MISSING:
			rc = n ? fetch(file, number, n, stop, err) : error_errno(err, ENOMEM);
			break;
		}
		if (rc < 0)
			return rc;
	}
}

int remote_file_read(struct remote_file *file, void *bytes, size_t n, uint64_t offset,
		     const atomic_bool *stop, struct error *err)
{
	uint8_t *to = bytes;

	if (offset > size_of(file) || n > size_of(file) - offset)
		return error_set(err, EIO, offset, "this is behind the end of the file");
	while (n) {
		const size_t skip = (size_t)(offset % REMOTE_BLOCK);
		const size_t wanted = (skip + n - 1) / REMOTE_BLOCK + 1;
		const size_t part = n < REMOTE_BLOCK - skip ? n : REMOTE_BLOCK - skip;
		struct remote_block *block;
		const int rc = get_block(file, offset / REMOTE_BLOCK, wanted, &block, stop, err);

		if (rc < 0)
			return rc;
		memcpy(to, remote_block_bytes(block) + skip, part);
		remote_cache_put(file->cache, block);
		to += part;
		offset += part;
		n -= part;
	}
	return 0;
}

/* ## pieces */

/* Number of the n pieces, at least 1, to fetch by one request of *length bytes. */
static size_t join(const struct remote_piece *pieces, size_t n, size_t *length)
{
	const uint64_t start = pieces[0].offset;
	uint64_t end = start + pieces[0].length;
	size_t joined = 1;

	for (; joined < n; joined++) {
		const struct remote_piece *piece = &pieces[joined];

		if (piece->offset < end || piece->offset - end > GAP_MAX ||
		    piece->offset + piece->length - start > JOINED_MAX)
			break;
		end = piece->offset + piece->length;
	}
	*length = (size_t)(end - start);
	return joined;
}

/* Ranges to fetch for n pieces; memory is freed with the ranges. NULL: out of memory. */
static struct remote_range *plan(const struct remote_piece *pieces, size_t n, size_t *n_ranges,
				 uint8_t **memory)
{
	struct remote_range *ranges = calloc(n, sizeof(*ranges));
	size_t total = 0, used = 0;

	*n_ranges = 0;
	for (size_t i = 0; ranges && i < n;) {
		struct remote_range *range = &ranges[(*n_ranges)++];

		range->offset = pieces[i].offset;
		i += join(&pieces[i], n - i, &range->length);
		total += range->length;
	}
	*memory = malloc(total + 1);
	if (!ranges || !*memory) {
		free(ranges);
		free(*memory);
		return NULL;
	}
	for (size_t i = 0; i < *n_ranges; i++) {
		ranges[i].bytes = *memory + used;
		used += ranges[i].length;
	}
	return ranges;
}

/* Fetch pieces, none of which is empty. */
static int fetch_pieces(struct remote_file *file, const struct remote_piece *pieces, size_t n,
			const atomic_bool *stop, struct error *err)
{
	size_t n_ranges;
	uint8_t *memory;
	struct remote_range *ranges = plan(pieces, n, &n_ranges, &memory);
	int rc;

	if (!ranges)
		return error_errno(err, ENOMEM);
	rc = get(file, ranges, n_ranges, stop, err);
	for (size_t i = 0, k = 0; rc == 0 && i < n; k++) {
		size_t length;
		const size_t end = i + join(&pieces[i], n - i, &length);

		for (; i < end; i++)
			memcpy(pieces[i].bytes,
			       ranges[k].bytes + (pieces[i].offset - ranges[k].offset),
			       pieces[i].length);
	}
	free(memory);
	free(ranges);
	return rc;
}

/* Are all blocks of the piece cached? */
static bool is_cached(struct remote_file *file, const struct remote_piece *piece)
{
	const uint64_t last = (piece->offset + piece->length - 1) / REMOTE_BLOCK;
	bool cached = true;

	for (uint64_t i = piece->offset / REMOTE_BLOCK; cached && i <= last; i++)
		cached = remote_cache_peek(file->cache, file->number, i) == REMOTE_PRESENT;
	return cached;
}

int remote_file_read_pieces(struct remote_file *file, const struct remote_piece *pieces, size_t n,
			    const atomic_bool *stop, struct error *err)
{
	struct remote_piece *absent = calloc(n + 1, sizeof(*absent));
	size_t n_absent = 0;
	int rc = absent ? 0 : error_errno(err, ENOMEM);

	for (size_t i = 0; rc == 0 && i < n; i++) {
		const struct remote_piece *piece = &pieces[i];

		if (piece->offset > size_of(file) || piece->length > size_of(file) - piece->offset)
			rc = error_set(err, EIO, piece->offset,
				       "this is behind the end of the file");
		else if (piece->length && is_cached(file, piece))
			rc = remote_file_read(file, piece->bytes, piece->length, piece->offset,
					      stop, err);
		else if (piece->length)
			absent[n_absent++] = *piece;
	}
	if (rc == 0 && n_absent)
		rc = fetch_pieces(file, absent, n_absent, stop, err);
	free(absent);
	return rc;
}

void remote_file_keep(struct remote_file *file, uint64_t n)
{
	remote_cache_keep(file->cache, file->number, (n + REMOTE_BLOCK - 1) / REMOTE_BLOCK);
}
