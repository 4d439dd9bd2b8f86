/* SPDX-License-Identifier: MIT */
/* fuzz_zstd_seekable.c - any bytes as a file of frames: the file is refused with a place in it, or
 * every read gives the same bytes or fails. If the last byte is low, the bytes before it are one
 * frame, and get a seek table. */
#include "fs/storage/zstd_seekable.h"
#include "fuzz_help.h"
#include "gguf/bytes.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

static int file_of(const uint8_t *data, size_t size)
{
	const int fd = memfd_create("frames", MFD_CLOEXEC);

	require(fd >= 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
	return fd;
}

/* Check that a part that can be read equals that part of the whole. */
static void check_reads(struct zstd_seekable *frames, uint64_t size)
{
	const size_t n = size < 3 * ZSTD_FRAME_BYTES ? (size_t)size : 3 * ZSTD_FRAME_BYTES;
	uint8_t *whole = malloc(n + 1), part[100];
	struct error err = { 0 };
	const int rc = zstd_seekable_read(frames, whole, n, 0, &err);

	require(whole && (rc == 0 || (rc == -EIO && err.code == EIO && err.text[0])));
	for (size_t from = 0; rc == 0 && from + sizeof(part) <= n; from += n / 7 + 1) {
		require(zstd_seekable_read(frames, part, sizeof(part), from, &err) == 0);
		require(memcmp(part, whole + from, sizeof(part)) == 0);
		require(zstd_seekable_peek(frames, part, sizeof(part), from, &err) == 0);
		require(memcmp(part, whole + from, sizeof(part)) == 0);
	}
	if (rc < 0 && n)
		zstd_seekable_peek(frames, part, n < sizeof(part) ? n : sizeof(part), 0, &err);
	require(zstd_seekable_read(frames, part, 1, size, &err) == -EIO);
	free(whole);
}

static void open_and_read(const uint8_t *data, size_t size)
{
	const int fd = file_of(data, size);
	struct zstd_cache *cache = zstd_cache_new();
	struct error err = { 0 };
	struct zstd_seekable *frames = zstd_seekable_open(fd, cache, &err);

	if (frames)
		check_reads(frames, zstd_seekable_size(frames));
	else
		require(err.code == EBADMSG && err.text[0] && err.offset <= size);
	zstd_seekable_close(frames);
	zstd_cache_unref(cache);
	close(fd);
}

/* Give the bytes, as the only frame, a seek table that is right as far as the bytes tell. */
static void with_a_table(const uint8_t *data, size_t size)
{
	uint8_t *file = malloc(size + 64), *content = malloc(ZSTD_FRAME_BYTES), *at = file;
	size_t holds;

	require(file && content);
	memset(content, 0, 1000);
	holds = ZSTD_decompress(content, ZSTD_FRAME_BYTES, data, size);
	if (ZSTD_isError(holds))
		holds = 1000;
	at = store_bytes(at, data, size);
	at = store_u32(at, ZSTD_SEEKABLE_TABLE_MAGIC);
	at = store_u32(at, ZSTD_SEEKABLE_ENTRY + ZSTD_SEEKABLE_FOOTER);
	at = store_u32(at, (uint32_t)size);
	at = store_u32(at, (uint32_t)holds);
	at = store_u32(at, (uint32_t)XXH64(content, holds, 0));
	at = store_u32(at, 1);
	*at++ = ZSTD_SEEKABLE_CHECKSUM_FLAG;
	at = store_u32(at, ZSTD_SEEKABLE_FOOTER_MAGIC);
	open_and_read(file, (size_t)(at - file));
	free(content);
	free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size && data[size - 1] < 64)
		with_a_table(data, size - 1);
	else
		open_and_read(data, size);
	return 0;
}
