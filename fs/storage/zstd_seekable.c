/* SPDX-License-Identifier: MIT */
/* frames.c - see frames.h. */
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

struct frames {
	int fd;
	struct frames_cache *cache;
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
	uint8_t footer[FRAMES_FOOTER], head[FRAMES_TABLE_HEAD];
	uint64_t size;

	if (file_size < FRAMES_TABLE_HEAD + FRAMES_FOOTER)
		return error_set(err, EBADMSG, file_size,
				 "the file ends before a table of frames could");
	if (read_all(fd, footer, sizeof(footer), file_size - sizeof(footer), err) < 0)
		return -EIO;
	if (load_u32(footer + 5) != FRAMES_FOOTER_MAGIC)
		return error_set(err, EBADMSG, file_size - 4,
				 "the file does not end with a table of frames");
	if (footer[4] != FRAMES_WITH_SUMS)
		return error_set(err, EBADMSG, file_size - 5,
				 "the table of frames has no checksums, or is of a kind that is "
				 "not known");
	*n = load_u32(footer);
	size = FRAMES_TABLE_HEAD + (uint64_t)*n * FRAMES_ENTRY + FRAMES_FOOTER;
	if (*n > FRAMES_MOST || size > file_size)
		return error_set(err, EBADMSG, file_size - sizeof(footer),
				 "the table would be of %" PRIu32 " frames", *n);
	*start = file_size - size;
	if (read_all(fd, head, sizeof(head), *start, err) < 0)
		return -EIO;
	if (load_u32(head) != FRAMES_TABLE_MAGIC || load_u32(head + 4) != size - FRAMES_TABLE_HEAD)
		return error_set(err, EBADMSG, *start, "the table of frames does not begin here");
	return 0;
}

/* Take up one entry: its frame begins where the one before it ends. */
static int take_entry(struct frames *frames, uint32_t i, const uint8_t *entry, uint64_t at,
		      struct error *err)
{
	const uint32_t packed = load_u32(entry), holds = load_u32(entry + 4);
	const bool last = i + 1 == frames->n;

	if (packed == 0 || packed > ZSTD_compressBound(FRAME_BYTES))
		return error_set(err, EBADMSG, at, "frame %" PRIu32 " would be %" PRIu32 " bytes",
				 i, packed);
	if (holds == 0 || holds > FRAME_BYTES || (!last && holds != FRAME_BYTES))
		return error_set(err, EBADMSG, at + 4,
				 "frame %" PRIu32 " would hold %" PRIu32 " bytes and not %zu", i,
				 holds, FRAME_BYTES);
	frames->frame[i + 1].offset = frames->frame[i].offset + packed;
	frames->frame[i].sum = load_u32(entry + 8);
	frames->size += holds;
	return 0;
}

static int read_table(struct frames *frames, uint64_t start, struct error *err)
{
	uint8_t entries[ENTRIES * FRAMES_ENTRY];

	for (uint32_t i = 0; i < frames->n;) {
		const uint64_t at = start + FRAMES_TABLE_HEAD + (uint64_t)i * FRAMES_ENTRY;
		const uint32_t left = frames->n - i, some = left < ENTRIES ? left : ENTRIES;

		if (read_all(frames->fd, entries, (size_t)some * FRAMES_ENTRY, at, err) < 0)
			return -EIO;
		for (uint32_t k = 0; k < some; k++, i++) {
			const uint32_t skip = k * FRAMES_ENTRY;

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

struct frames *frames_open(int fd, struct frames_cache *cache, struct error *err)
{
	struct frames *frames = NULL;
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
	frames->cache = frames_cache_ref(cache);
	frames->owner = frames_cache_owner(cache);
	return frames;
}

void frames_close(struct frames *frames)
{
	if (!frames)
		return;
	frames_cache_unref(frames->cache);
	free(frames);
}

uint64_t frames_size(const struct frames *frames)
{
	return frames->size;
}

static size_t content_of(const struct frames *frames, uint32_t number)
{
	const uint64_t before = (uint64_t)number * FRAME_BYTES;

	return frames->size - before < FRAME_BYTES ? (size_t)(frames->size - before) : FRAME_BYTES;
}

struct filling {
	const struct frames *frames;
	struct error *err;
};

/* At most FRAME_BYTES come out, whatever the frame says of itself. */
static int decompress(void *context, uint32_t number, uint8_t *bytes, struct frames_tools *tools)
{
	const struct filling *filling = context;
	const struct frames *frames = filling->frames;
	const struct frame *frame = &frames->frame[number];
	const size_t packed = (size_t)(frame[1].offset - frame->offset);
	const size_t holds = content_of(frames, number);
	size_t got;

	if (packed > tools->room)
		return error_set(filling->err, EIO, frame->offset, "the frame is too long");
	if (read_all(frames->fd, tools->packed, packed, frame->offset, filling->err) < 0)
		return -EIO;
	got = ZSTD_decompressDCtx(tools->zstd, bytes, FRAME_BYTES, tools->packed, packed);
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

int frames_read(struct frames *frames, void *bytes, size_t n, uint64_t offset, struct error *err)
{
	struct filling filling = { frames, err };
	struct frames_wanted wanted = { .owner = frames->owner,
					.fill = decompress,
					.context = &filling };
	uint8_t *to = bytes;

	if (offset > frames->size || n > frames->size - offset)
		return error_set(err, EIO, ERROR_NO_OFFSET, "there are not so many bytes in it");
	while (n) {
		const size_t from = (size_t)(offset % FRAME_BYTES);
		size_t part = FRAME_BYTES - from;
		int rc;

		if (part > n)
			part = n;
		wanted.number = (uint32_t)(offset / FRAME_BYTES);
		rc = frames_cache_read(frames->cache, &wanted, to, part, from);
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
static int stream(const struct frames *frames, ZSTD_DCtx *zstd, uint8_t *bytes, size_t n,
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

int frames_peek(struct frames *frames, void *bytes, size_t n, uint64_t offset, struct error *err)
{
	ZSTD_DCtx *zstd;
	uint8_t *start;
	int rc;

	if (offset > FRAMES_PEEK || n > FRAMES_PEEK - offset || offset + n > frames->size)
		return frames_read(frames, bytes, n, offset, err);
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
