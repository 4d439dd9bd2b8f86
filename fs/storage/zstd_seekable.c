/* SPDX-License-Identifier: MIT */
/* zstd_seekable.c - see zstd_seekable.h: the cache, reading through it, writing. */
#include "fs/storage/zstd_seekable.h"
#include "fs/util/array_grown.h"
#include "fs/util/io.h"
#include "gguf/bytes.h"
#include "gguf/error.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>
#include <zstd.h>

/* entries read at a time */
#define ENTRIES 512u

struct zstd_seekable {
	int fd;
	struct zstd_cache *cache;
	uint64_t owner;
	uint32_t n;
	uint64_t size;
	struct frame {
		uint64_t offset; /* in the file; frame[n].offset is the begin of the table */
		uint32_t sum;
	} frame[];
};

enum slot_state { SLOT_EMPTY, SLOT_FILLING, SLOT_FULL };

struct slot {
	enum slot_state state;
	uint64_t owner;
	uint32_t number;
	unsigned readers; /* number of threads that copy from the slot, so that it must stay */
	uint64_t used;	  /* time of the last use, by the cache's clock */
	uint8_t *bytes;	  /* ZSTD_FRAME_BYTES; NULL: never used yet */
};

/* Decompression context and buffer. */
struct tools {
	ZSTD_DCtx *zstd;
	uint8_t *packed; /* room for any frame that is valid */
	size_t room;
};

struct zstd_cache {
	atomic_uint refs;
	atomic_uint_fast64_t owners;
	pthread_mutex_t lock; /* protects the members below */
	pthread_cond_t freed; /* a slot is filled, or a slot or tools became free */
	uint64_t clock;
	struct slot slots[ZSTD_CACHE_FRAMES];
	struct tools tools[ZSTD_CACHE_BUSY_MAX];
	bool taken[ZSTD_CACHE_BUSY_MAX];
};

struct zstd_cache *zstd_cache_new(void)
{
	struct zstd_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return NULL;
	atomic_init(&cache->refs, 1);
	pthread_mutex_init(&cache->lock, NULL);
	pthread_cond_init(&cache->freed, NULL);
	return cache;
}

struct zstd_cache *zstd_cache_ref(struct zstd_cache *cache)
{
	atomic_fetch_add(&cache->refs, 1);
	return cache;
}

void zstd_cache_unref(struct zstd_cache *cache)
{
	if (!cache || atomic_fetch_sub(&cache->refs, 1) != 1)
		return;
	for (size_t i = 0; i < ZSTD_CACHE_FRAMES; i++)
		free(cache->slots[i].bytes);
	for (size_t i = 0; i < ZSTD_CACHE_BUSY_MAX; i++) {
		ZSTD_freeDCtx(cache->tools[i].zstd);
		free(cache->tools[i].packed);
	}
	pthread_cond_destroy(&cache->freed);
	pthread_mutex_destroy(&cache->lock);
	free(cache);
}

static int read_all(int fd, void *bytes, size_t n, uint64_t offset, struct error *err)
{
	const ssize_t got = io_read(fd, bytes, n, offset);

	if (got == (ssize_t)n)
		return 0;
	return error_set(err, EIO, ERROR_NO_OFFSET, "%s",
			 got < 0 ? strerror((int)-got) : "the file was truncated");
}

/* Find the begin of the table and its number of frames. */
static int find_table(int fd, uint64_t file_size, uint64_t *start, uint32_t *n, struct error *err)
{
	uint8_t footer[ZSTD_SEEKABLE_FOOTER], head[ZSTD_SEEKABLE_TABLE_HEADER];
	uint64_t size;

	if (file_size < ZSTD_SEEKABLE_TABLE_HEADER + ZSTD_SEEKABLE_FOOTER)
		return error_set(err, EBADMSG, file_size,
				 "the file is too short for a table of frames");
	if (read_all(fd, footer, sizeof(footer), file_size - sizeof(footer), err) < 0)
		return -EIO;
	if (load_u32(footer + 5) != ZSTD_SEEKABLE_FOOTER_MAGIC)
		return error_set(err, EBADMSG, file_size - 4,
				 "the file does not end with a table of frames");
	if (footer[4] != ZSTD_SEEKABLE_CHECKSUM_FLAG)
		return error_set(err, EBADMSG, file_size - 5,
				 "the table of frames has no checksums, or an unknown format");
	*n = load_u32(footer);
	size = ZSTD_SEEKABLE_TABLE_HEADER + (uint64_t)*n * ZSTD_SEEKABLE_ENTRY +
	       ZSTD_SEEKABLE_FOOTER;
	if (*n > ZSTD_SEEKABLE_FRAMES_MAX || size > file_size)
		return error_set(err, EBADMSG, file_size - sizeof(footer),
				 "a table of %" PRIu32 " frames is too long", *n);
	*start = file_size - size;
	if (read_all(fd, head, sizeof(head), *start, err) < 0)
		return -EIO;
	if (load_u32(head) != ZSTD_SEEKABLE_TABLE_MAGIC ||
	    load_u32(head + 4) != size - ZSTD_SEEKABLE_TABLE_HEADER)
		return error_set(err, EBADMSG, *start, "no table of frames begins here");
	return 0;
}

/* Parse entry i: frame i begins at the end of the frame before. */
static int take_entry(struct zstd_seekable *frames, uint32_t i, const uint8_t *entry, uint64_t at,
		      struct error *err)
{
	const uint32_t packed = load_u32(entry), holds = load_u32(entry + 4);
	const bool last = i + 1 == frames->n;

	if (packed == 0 || packed > ZSTD_compressBound(ZSTD_FRAME_BYTES))
		return error_set(err, EBADMSG, at,
				 "frame %" PRIu32 " cannot have %" PRIu32 " bytes", i, packed);
	if (holds == 0 || holds > ZSTD_FRAME_BYTES || (!last && holds != ZSTD_FRAME_BYTES))
		return error_set(err, EBADMSG, at + 4,
				 "frame %" PRIu32 " holds %" PRIu32 " bytes instead of %zu", i,
				 holds, ZSTD_FRAME_BYTES);
	frames->frame[i + 1].offset = frames->frame[i].offset + packed;
	frames->frame[i].sum = load_u32(entry + 8);
	frames->size += holds;
	return 0;
}

static int read_table(struct zstd_seekable *frames, uint64_t start, struct error *err)
{
	uint8_t entries[ENTRIES * ZSTD_SEEKABLE_ENTRY];

	for (uint32_t i = 0; i < frames->n;) {
		const uint64_t at =
			start + ZSTD_SEEKABLE_TABLE_HEADER + (uint64_t)i * ZSTD_SEEKABLE_ENTRY;
		const uint32_t left = frames->n - i, some = left < ENTRIES ? left : ENTRIES;

		if (read_all(frames->fd, entries, (size_t)some * ZSTD_SEEKABLE_ENTRY, at, err) < 0)
			return -EIO;
		for (uint32_t k = 0; k < some; k++, i++) {
			const uint32_t skip = k * ZSTD_SEEKABLE_ENTRY;

			if (take_entry(frames, i, entries + skip, at + skip, err) < 0)
				return -EBADMSG;
		}
	}
	if (frames->frame[frames->n].offset != start)
		return error_set(err, EBADMSG, start,
				 "the frames are %" PRIu64 " bytes by the table, which begins here",
				 frames->frame[frames->n].offset);
	return 0;
}

struct zstd_seekable *zstd_seekable_open(int fd, struct zstd_cache *cache, struct error *err)
{
	struct zstd_seekable *frames = NULL;
	struct stat stat;
	uint64_t start = 0;
	uint32_t n = 0;

	if (fstat(fd, &stat) < 0) {
		error_set(err, EIO, ERROR_NO_OFFSET, "%s", strerror(errno));
		return NULL;
	}
	if (find_table(fd, (uint64_t)stat.st_size, &start, &n, err) < 0)
		return NULL;
	frames = calloc(1, sizeof(*frames) + ((size_t)n + 1) * sizeof(frames->frame[0]));
	if (!frames) {
		error_errno(err, ENOMEM);
		return NULL;
	}
	frames->fd = fd;
	frames->n = n;
	if (read_table(frames, start, err) < 0) {
		free(frames);
		return NULL;
	}
	frames->cache = zstd_cache_ref(cache);
	frames->owner = atomic_fetch_add(&cache->owners, 1);
	return frames;
}

void zstd_seekable_close(struct zstd_seekable *frames)
{
	if (!frames)
		return;
	zstd_cache_unref(frames->cache);
	free(frames);
}

uint64_t zstd_seekable_size(const struct zstd_seekable *frames)
{
	return frames->size;
}

static size_t content_of(const struct zstd_seekable *frames, uint32_t number)
{
	const uint64_t before = (uint64_t)number * ZSTD_FRAME_BYTES;

	return frames->size - before < ZSTD_FRAME_BYTES ? (size_t)(frames->size - before)
							: ZSTD_FRAME_BYTES;
}

/* Decompress a frame, to at most ZSTD_FRAME_BYTES, even if its header claims more. */
static int decompress(const struct zstd_seekable *frames, uint32_t number, uint8_t *bytes,
		      const struct tools *tools, struct error *err)
{
	const struct frame *frame = &frames->frame[number];
	const size_t packed = (size_t)(frame[1].offset - frame->offset);
	const size_t holds = content_of(frames, number);
	size_t got;

	if (packed > tools->room)
		return error_set(err, EIO, frame->offset, "the frame is too long");
	if (read_all(frames->fd, tools->packed, packed, frame->offset, err) < 0)
		return -EIO;
	got = ZSTD_decompressDCtx(tools->zstd, bytes, ZSTD_FRAME_BYTES, tools->packed, packed);
	if (ZSTD_isError(got))
		return error_set(err, EIO, frame->offset,
				 "frame %" PRIu32 " cannot be decompressed: %s", number,
				 ZSTD_getErrorName(got));
	if (got != holds || (uint32_t)XXH64(bytes, got, 0) != frame->sum)
		return error_set(err, EIO, frame->offset,
				 "frame %" PRIu32 " does not match its checksum", number);
	return 0;
}

/* This and the functions below, up to fill(), are called with the lock held. */
static struct slot *find(struct zstd_cache *cache, uint64_t owner, uint32_t number)
{
	for (size_t i = 0; i < ZSTD_CACHE_FRAMES; i++) {
		struct slot *slot = &cache->slots[i];

		if (slot->state != SLOT_EMPTY && slot->owner == owner && slot->number == number)
			return slot;
	}
	return NULL;
}

/* The least recently used slot that no reader holds. */
static struct slot *find_victim(struct zstd_cache *cache)
{
	struct slot *victim = NULL;

	for (size_t i = 0; i < ZSTD_CACHE_FRAMES; i++) {
		struct slot *slot = &cache->slots[i];

		if (slot->state == SLOT_EMPTY)
			return slot;
		if (slot->state == SLOT_FULL && !slot->readers &&
		    (!victim || slot->used < victim->used))
			victim = slot;
	}
	return victim;
}

/* Index of free tools; ZSTD_CACHE_BUSY_MAX: none is free. */
static size_t find_tools(const struct zstd_cache *cache)
{
	size_t i = 0;

	while (i < ZSTD_CACHE_BUSY_MAX && cache->taken[i])
		i++;
	return i;
}

static bool make_tools(struct tools *tools, struct slot *slot)
{
	if (!tools->zstd)
		tools->zstd = ZSTD_createDCtx();
	if (!tools->packed) {
		tools->room = ZSTD_compressBound(ZSTD_FRAME_BYTES);
		tools->packed = malloc(tools->room);
	}
	if (!slot->bytes)
		slot->bytes = malloc(ZSTD_FRAME_BYTES);
	return tools->zstd && tools->packed && slot->bytes;
}

/* Decompress a frame into the slot, with those tools. The lock is released meanwhile: threads may
 * run concurrently, but never for the same frame. */
static int fill(const struct zstd_seekable *frames, uint32_t number, struct slot *slot,
		size_t tools, struct error *err)
{
	struct zstd_cache *cache = frames->cache;
	int rc;

	slot->state = SLOT_FILLING;
	slot->owner = frames->owner;
	slot->number = number;
	cache->taken[tools] = true;
	pthread_mutex_unlock(&cache->lock);
	if (make_tools(&cache->tools[tools], slot))
		rc = decompress(frames, number, slot->bytes, &cache->tools[tools], err);
	else
		rc = error_errno(err, ENOMEM);
	pthread_mutex_lock(&cache->lock);
	cache->taken[tools] = false;
	slot->state = rc < 0 ? SLOT_EMPTY : SLOT_FULL;
	pthread_cond_broadcast(&cache->freed);
	return rc;
}

/* Get a slot that holds the frame, and count the caller as its reader. NULL with *rc set; a frame
 * that failed is tried again next time. */
static struct slot *take(const struct zstd_seekable *frames, uint32_t number, int *rc,
			 struct error *err)
{
	struct zstd_cache *cache = frames->cache;
	struct slot *slot;

	while (!(slot = find(cache, frames->owner, number)) || slot->state != SLOT_FULL) {
		struct slot *victim = slot ? NULL : find_victim(cache);
		const size_t tools = find_tools(cache);

		if (!victim || tools == ZSTD_CACHE_BUSY_MAX) {
			pthread_cond_wait(&cache->freed, &cache->lock);
			continue;
		}
		*rc = fill(frames, number, victim, tools, err);
		if (*rc < 0)
			return NULL;
	}
	slot->readers++;
	slot->used = ++cache->clock;
	return slot;
}

/* Copy n bytes of a frame's content, from offset `from` on. */
static int read_frame(const struct zstd_seekable *frames, uint32_t number, void *bytes, size_t n,
		      size_t from, struct error *err)
{
	struct zstd_cache *cache = frames->cache;
	struct slot *slot;
	int rc = 0;

	pthread_mutex_lock(&cache->lock);
	slot = take(frames, number, &rc, err);
	pthread_mutex_unlock(&cache->lock);
	if (!slot)
		return rc;
	memcpy(bytes, slot->bytes + from, n);
	pthread_mutex_lock(&cache->lock);
	if (--slot->readers == 0)
		pthread_cond_broadcast(&cache->freed);
	pthread_mutex_unlock(&cache->lock);
	return 0;
}

int zstd_seekable_read(struct zstd_seekable *frames, void *bytes, size_t n, uint64_t offset,
		       struct error *err)
{
	uint8_t *to = bytes;

	if (offset > frames->size || n > frames->size - offset)
		return error_set(err, EIO, ERROR_NO_OFFSET,
				 "the offset lies beyond the end of the content");
	while (n) {
		const size_t from = (size_t)(offset % ZSTD_FRAME_BYTES);
		size_t part = ZSTD_FRAME_BYTES - from;
		int rc;

		if (part > n)
			part = n;
		rc = read_frame(frames, (uint32_t)(offset / ZSTD_FRAME_BYTES), to, part, from, err);
		if (rc < 0)
			return rc;
		to += part;
		offset += part;
		n -= part;
	}
	return 0;
}

/* Decompress the first n bytes of the file. Returns -EBADMSG, without err, if the frame needs a
 * larger window than this decoder allows; decompress() needs no window. */
static int stream(const struct zstd_seekable *frames, ZSTD_DCtx *zstd, uint8_t *bytes, size_t n,
		  struct error *err)
{
	uint8_t packed[8192];
	ZSTD_outBuffer out = { bytes, n, 0 };
	uint64_t at = 0;

	/* The frame header determines the decoder's memory. A writer that did not know the size
	 * declares the window of its compression level, which may exceed the content. */
	ZSTD_DCtx_setParameter(zstd, ZSTD_d_windowLogMax, 20);
	while (out.pos < n && at < frames->frame[frames->n].offset) {
		const uint64_t left = frames->frame[frames->n].offset - at;
		ZSTD_inBuffer in = { packed, left < sizeof(packed) ? (size_t)left : sizeof(packed),
				     0 };

		if (read_all(frames->fd, packed, in.size, at, err) < 0)
			return -EIO;
		at += in.size;
		while (out.pos < n && in.pos < in.size) {
			const size_t rc = ZSTD_decompressStream(zstd, &out, &in);

			if (ZSTD_isError(rc))
				return -EBADMSG;
		}
	}
	return out.pos == n ? 0 : error_set(err, EIO, 0, "frame 0 is shorter than the table says");
}

int zstd_seekable_peek(struct zstd_seekable *frames, void *bytes, size_t n, uint64_t offset,
		       struct error *err)
{
	ZSTD_DCtx *zstd;
	uint8_t *start;
	int rc;

	if (offset > ZSTD_SEEKABLE_PEEK || n > ZSTD_SEEKABLE_PEEK - offset ||
	    offset + n > frames->size)
		return zstd_seekable_read(frames, bytes, n, offset, err);
	zstd = ZSTD_createDCtx();
	start = malloc((size_t)offset + n + 1);
	if (!zstd || !start) {
		rc = error_errno(err, ENOMEM);
	} else {
		rc = stream(frames, zstd, start, (size_t)offset + n, err);
		if (rc == 0)
			memcpy(bytes, start + offset, n);
	}
	free(start);
	ZSTD_freeDCtx(zstd);
	return rc == -EBADMSG ? zstd_seekable_read(frames, bytes, n, offset, err) : rc;
}

struct zstd_writer {
	int fd; /* -1: not begun */
	ZSTD_CCtx *zstd;
	uint8_t *packed;
	size_t room;
	size_t pending; /* bytes in packed that wait for the file */
	size_t first;	/* decompressed bytes of the first frame */
	uint64_t at;	/* offset of the next frame */
	bool ended;	/* a frame was shorter than ZSTD_FRAME_BYTES, so it is the last */
	uint8_t *entries;
	uint32_t n;
	size_t entries_room;
};

struct zstd_writer *zstd_writer_new(int level)
{
	struct zstd_writer *writer = calloc(1, sizeof(*writer));

	if (!writer)
		return NULL;
	writer->fd = -1;
	writer->room = ZSTD_compressBound(ZSTD_FRAME_BYTES);
	writer->packed = malloc(writer->room);
	writer->zstd = ZSTD_createCCtx();
	/* Checksums let `zstd -t`, and every decompression, verify the frames. */
	if (writer->packed && writer->zstd &&
	    !ZSTD_isError(ZSTD_CCtx_setParameter(writer->zstd, ZSTD_c_compressionLevel, level)) &&
	    !ZSTD_isError(ZSTD_CCtx_setParameter(writer->zstd, ZSTD_c_checksumFlag, 1)))
		return writer;
	zstd_writer_free(writer);
	return NULL;
}

void zstd_writer_free(struct zstd_writer *writer)
{
	if (!writer)
		return;
	ZSTD_freeCCtx(writer->zstd);
	free(writer->packed);
	free(writer->entries);
	free(writer);
}

static int enter(struct zstd_writer *writer, size_t packed, size_t holds, uint64_t sum)
{
	uint8_t *entry =
		array_grown(writer->entries, writer->n, &writer->entries_room, ZSTD_SEEKABLE_ENTRY);

	if (!entry)
		return -ENOMEM;
	writer->entries = entry;
	entry += (size_t)writer->n++ * ZSTD_SEEKABLE_ENTRY;
	entry = store_u32(entry, (uint32_t)packed);
	entry = store_u32(entry, (uint32_t)holds);
	store_u32(entry, (uint32_t)sum);
	return 0;
}

/* Write the pending frame, if the file has been set. */
static int write_frame(struct zstd_writer *writer)
{
	int rc;

	if (writer->fd < 0 || !writer->pending)
		return 0;
	rc = io_write(writer->fd, writer->packed, writer->pending, writer->at);
	writer->at += writer->pending;
	writer->pending = 0;
	return rc;
}

int zstd_writer_add(struct zstd_writer *writer, const void *bytes, size_t n)
{
	size_t packed;
	int rc;

	if (n == 0 || n > ZSTD_FRAME_BYTES || writer->ended || writer->pending)
		return -EINVAL;
	if (writer->n == ZSTD_SEEKABLE_FRAMES_MAX)
		return -EFBIG;
	packed = ZSTD_compress2(writer->zstd, writer->packed, writer->room, bytes, n);
	if (ZSTD_isError(packed))
		return -ENOMEM;
	rc = enter(writer, packed, n, XXH64(bytes, n, 0));
	if (rc < 0)
		return rc;
	if (writer->n == 1)
		writer->first = n;
	writer->pending = packed;
	writer->ended = n < ZSTD_FRAME_BYTES;
	return write_frame(writer);
}

bool zstd_writer_is_worthwhile(const struct zstd_writer *writer)
{
	const uint64_t size = writer->at + writer->pending + ZSTD_SEEKABLE_TABLE_HEADER +
			      ZSTD_SEEKABLE_ENTRY + ZSTD_SEEKABLE_FOOTER;

	return size < writer->first - writer->first / 20;
}

int zstd_writer_begin(struct zstd_writer *writer, int fd)
{
	writer->fd = fd;
	return write_frame(writer);
}

int64_t zstd_writer_finish(struct zstd_writer *writer)
{
	const size_t entries = (size_t)writer->n * ZSTD_SEEKABLE_ENTRY;
	const size_t size = ZSTD_SEEKABLE_TABLE_HEADER + entries + ZSTD_SEEKABLE_FOOTER;
	uint8_t *table = malloc(size), *at = table;
	int rc;

	if (!table)
		return -ENOMEM;
	at = store_u32(at, ZSTD_SEEKABLE_TABLE_MAGIC);
	at = store_u32(at, (uint32_t)(entries + ZSTD_SEEKABLE_FOOTER));
	if (entries)
		memcpy(at, writer->entries, entries);
	at = store_u32(at + entries, writer->n);
	*at++ = ZSTD_SEEKABLE_CHECKSUM_FLAG;
	store_u32(at, ZSTD_SEEKABLE_FOOTER_MAGIC);
	rc = io_write(writer->fd, table, size, writer->at);
	free(table);
	return rc < 0 ? rc : (int64_t)(writer->at + size);
}
