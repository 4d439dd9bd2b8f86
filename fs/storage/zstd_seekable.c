/* SPDX-License-Identifier: MIT */
/* zstd_seekable.c - see zstd_seekable.h. */
#include "fs/storage/zstd_seekable.h"
#include "fs/util/io.h"
#include "gguf/bytes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

/* Entries that are read at once. */
#define ENTRIES 512u

struct zstd_seekable {
	int fd;
	struct zstd_cache *cache;
	uint64_t owner;
	uint32_t n;
	uint64_t size;
	struct frame {
		uint64_t offset; /* in the file; that of frame n is where the table begins */
		uint32_t sum;
	} frame[];
};

static int io_error(struct error *err, ssize_t got)
{
	return error_set(err, EIO, ERROR_NO_OFFSET, "%s",
			 got < 0 ? strerror((int)-got) : "the file is shorter than it was");
}

static int read_all(int fd, void *bytes, size_t n, uint64_t offset, struct error *err)
{
	const ssize_t got = io_read(fd, bytes, n, offset);

	return got == (ssize_t)n ? 0 : io_error(err, got);
}

/* Where the table begins, and how many frames it tells of. */
static int find_table(int fd, uint64_t file_size, uint64_t *start, uint32_t *n, struct error *err)
{
	uint8_t footer[ZSTD_SEEKABLE_FOOTER], head[ZSTD_SEEKABLE_TABLE_HEADER];
	uint64_t size;

	if (file_size < ZSTD_SEEKABLE_TABLE_HEADER + ZSTD_SEEKABLE_FOOTER)
		return error_set(err, EBADMSG, file_size,
				 "the file ends before a table of frames could");
	if (read_all(fd, footer, sizeof(footer), file_size - sizeof(footer), err) < 0)
		return -EIO;
	if (load_u32(footer + 5) != ZSTD_SEEKABLE_FOOTER_MAGIC)
		return error_set(err, EBADMSG, file_size - 4,
				 "the file does not end with a table of frames");
	if (footer[4] != ZSTD_SEEKABLE_CHECKSUM_FLAG)
		return error_set(err, EBADMSG, file_size - 5,
				 "the table of frames has no checksums, or is of a kind that is "
				 "not known");
	*n = load_u32(footer);
	size = ZSTD_SEEKABLE_TABLE_HEADER + (uint64_t)*n * ZSTD_SEEKABLE_ENTRY +
	       ZSTD_SEEKABLE_FOOTER;
	if (*n > ZSTD_SEEKABLE_FRAMES_MAX || size > file_size)
		return error_set(err, EBADMSG, file_size - sizeof(footer),
				 "the table would be of %" PRIu32 " frames", *n);
	*start = file_size - size;
	if (read_all(fd, head, sizeof(head), *start, err) < 0)
		return -EIO;
	if (load_u32(head) != ZSTD_SEEKABLE_TABLE_MAGIC ||
	    load_u32(head + 4) != size - ZSTD_SEEKABLE_TABLE_HEADER)
		return error_set(err, EBADMSG, *start, "the table of frames does not begin here");
	return 0;
}

/* Take up one entry: its frame begins where the one before it ends. */
static int take_entry(struct zstd_seekable *frames, uint32_t i, const uint8_t *entry, uint64_t at,
		      struct error *err)
{
	const uint32_t packed = load_u32(entry), holds = load_u32(entry + 4);
	const bool last = i + 1 == frames->n;

	if (packed == 0 || packed > ZSTD_compressBound(ZSTD_FRAME_BYTES))
		return error_set(err, EBADMSG, at, "frame %" PRIu32 " would be %" PRIu32 " bytes",
				 i, packed);
	if (holds == 0 || holds > ZSTD_FRAME_BYTES || (!last && holds != ZSTD_FRAME_BYTES))
		return error_set(err, EBADMSG, at + 4,
				 "frame %" PRIu32 " would hold %" PRIu32 " bytes and not %zu", i,
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
				 "the frames would be %" PRIu64 " bytes, and the table begins here",
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
		error_set(err, ENOMEM, ERROR_NO_OFFSET, "out of memory");
		return NULL;
	}
	frames->fd = fd;
	frames->n = n;
	if (read_table(frames, start, err) < 0) {
		free(frames);
		return NULL;
	}
	frames->cache = zstd_cache_ref(cache);
	frames->owner = zstd_cache_new_owner(cache);
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

struct frame_read {
	const struct zstd_seekable *frames;
	struct error *err;
};

/* At most ZSTD_FRAME_BYTES come out, whatever the frame says of itself. */
static int decompress(void *context, uint32_t number, uint8_t *bytes,
		      struct zstd_cache_context *tools)
{
	const struct frame_read *filling = context;
	const struct zstd_seekable *frames = filling->frames;
	const struct frame *frame = &frames->frame[number];
	const size_t packed = (size_t)(frame[1].offset - frame->offset);
	const size_t holds = content_of(frames, number);
	size_t got;

	if (packed > tools->room)
		return error_set(filling->err, EIO, frame->offset, "the frame is too long");
	if (read_all(frames->fd, tools->packed, packed, frame->offset, filling->err) < 0)
		return -EIO;
	got = ZSTD_decompressDCtx(tools->zstd, bytes, ZSTD_FRAME_BYTES, tools->packed, packed);
	if (ZSTD_isError(got))
		return error_set(filling->err, EIO, frame->offset,
				 "frame %" PRIu32 " cannot be decompressed: %s", number,
				 ZSTD_getErrorName(got));
	if (got != holds || (uint32_t)XXH64(bytes, got, 0) != frame->sum)
		return error_set(filling->err, EIO, frame->offset,
				 "frame %" PRIu32 " holds other bytes than its checksum is of",
				 number);
	return 0;
}

int zstd_seekable_read(struct zstd_seekable *frames, void *bytes, size_t n, uint64_t offset,
		       struct error *err)
{
	struct frame_read filling = { frames, err };
	struct zstd_cache_request wanted = { .owner = frames->owner,
					     .fill = decompress,
					     .context = &filling };
	uint8_t *to = bytes;

	if (offset > frames->size || n > frames->size - offset)
		return error_set(err, EIO, ERROR_NO_OFFSET, "there are not so many bytes in it");
	while (n) {
		const size_t from = (size_t)(offset % ZSTD_FRAME_BYTES);
		size_t part = ZSTD_FRAME_BYTES - from;
		int rc;

		if (part > n)
			part = n;
		wanted.number = (uint32_t)(offset / ZSTD_FRAME_BYTES);
		rc = zstd_cache_read(frames->cache, &wanted, to, part, from);
		if (rc == -ENOMEM)
			error_set(err, ENOMEM, ERROR_NO_OFFSET, "out of memory");
		if (rc < 0)
			return rc;
		to += part;
		offset += part;
		n -= part;
	}
	return 0;
}

/* Decompress the file's first bytes until there are n. */
static int stream(const struct zstd_seekable *frames, ZSTD_DCtx *zstd, uint8_t *bytes, size_t n,
		  struct error *err)
{
	uint8_t packed[8192];
	ZSTD_outBuffer out = { bytes, n, 0 };
	uint64_t at = 0;

	/* A frame asks for memory by itself; no frame here needs more than it holds. */
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
				return error_set(err, EIO, 0, "frame 0 cannot be decompressed: %s",
						 ZSTD_getErrorName(rc));
		}
	}
	return out.pos == n ? 0 : error_set(err, EIO, 0, "frame 0 holds less than it should");
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
		rc = error_set(err, ENOMEM, ERROR_NO_OFFSET, "out of memory");
	} else {
		rc = stream(frames, zstd, start, (size_t)offset + n, err);
		if (rc == 0)
			memcpy(bytes, start + offset, n);
	}
	free(start);
	ZSTD_freeDCtx(zstd);
	return rc;
}
