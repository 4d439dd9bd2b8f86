/* SPDX-License-Identifier: MIT */
/* zstd_write.c - see zstd_write.h. */
#include "fs/storage/zstd_write.h"
#include "fs/util/array_grown.h"
#include "fs/util/io.h"
#include "gguf/bytes.h"

#include <errno.h>
#include <xxhash.h>

struct zstd_writer {
	int fd;
	ZSTD_CCtx *zstd;
	uint8_t *packed;
	size_t room;
	uint64_t at; /* where the next frame goes */
	bool ended;  /* by a frame that is not full */
	uint8_t *entries;
	uint32_t n;
	size_t entries_room;
};

static ZSTD_CCtx *make_context(int level)
{
	ZSTD_CCtx *zstd = ZSTD_createCCtx();

	/* zstd -t checks the frames by it, and so does every decompression. */
	if (zstd && (ZSTD_isError(ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, level)) ||
		     ZSTD_isError(ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1)))) {
		ZSTD_freeCCtx(zstd);
		return NULL;
	}
	return zstd;
}

struct zstd_writer *zstd_writer_new(int fd, int level)
{
	struct zstd_writer *writer = calloc(1, sizeof(*writer));

	if (!writer)
		return NULL;
	writer->fd = fd;
	writer->room = ZSTD_compressBound(ZSTD_FRAME_BYTES);
	writer->packed = malloc(writer->room);
	writer->zstd = make_context(level);
	if (writer->packed && writer->zstd)
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

int zstd_writer_add(struct zstd_writer *writer, const void *bytes, size_t n)
{
	size_t packed;
	int rc;

	if (n == 0 || n > ZSTD_FRAME_BYTES || writer->ended)
		return -EINVAL;
	if (writer->n == ZSTD_SEEKABLE_FRAMES_MAX)
		return -EFBIG;
	packed = ZSTD_compress2(writer->zstd, writer->packed, writer->room, bytes, n);
	if (ZSTD_isError(packed))
		return -ENOMEM;
	rc = io_write(writer->fd, writer->packed, packed, writer->at);
	if (rc == 0)
		rc = enter(writer, packed, n, XXH64(bytes, n, 0));
	writer->at += packed;
	writer->ended = n < ZSTD_FRAME_BYTES;
	return rc;
}

int64_t zstd_writer_finish(struct zstd_writer *writer)
{
	const uint32_t entries = writer->n * ZSTD_SEEKABLE_ENTRY;
	uint8_t head[ZSTD_SEEKABLE_TABLE_HEADER], footer[ZSTD_SEEKABLE_FOOTER], *at = head;
	int rc;

	at = store_u32(at, ZSTD_SEEKABLE_TABLE_MAGIC);
	store_u32(at, entries + ZSTD_SEEKABLE_FOOTER);
	at = store_u32(footer, writer->n);
	*at++ = ZSTD_SEEKABLE_CHECKSUM_FLAG;
	store_u32(at, ZSTD_SEEKABLE_FOOTER_MAGIC);
	rc = io_write(writer->fd, head, sizeof(head), writer->at);
	if (rc == 0)
		rc = io_write(writer->fd, writer->entries, entries, writer->at + sizeof(head));
	if (rc == 0)
		rc = io_write(writer->fd, footer, sizeof(footer),
			      writer->at + sizeof(head) + entries);
	return rc < 0 ? rc : (int64_t)(writer->at + sizeof(head) + entries + sizeof(footer));
}

bool zstd_write_is_worthwhile(const void *bytes, size_t n, int level)
{
	const size_t room = ZSTD_compressBound(n);
	ZSTD_CCtx *zstd = make_context(level);
	void *packed = malloc(room + 1);
	size_t size = n;

	if (zstd && packed)
		size = ZSTD_compress2(zstd, packed, room, bytes, n);
	ZSTD_freeCCtx(zstd);
	free(packed);
	if (ZSTD_isError(size))
		return false;
	size += ZSTD_SEEKABLE_TABLE_HEADER + ZSTD_SEEKABLE_ENTRY + ZSTD_SEEKABLE_FOOTER;
	return size < n - n / 20;
}
