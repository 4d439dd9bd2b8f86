/* SPDX-License-Identifier: MIT */
/* layer_stage.c - see layer.h: stages, files in blobs/ or in memory in which organ files are
 * written. Sealing hashes a stage, compresses it if that is worthwhile, and makes it durable: small
 * content with its row, other content as a file. */
#include "fs/layer/blobs.h"
#include "fs/layer/layer_internal.h"
#include "fs/layer/layer_open.h"
#include "fs/storage/view.h"
#include "fs/storage/zstd_seekable.h"
#include "fs/util/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(LAYER_SMALL <= ZSTD_FRAME_BYTES, "a small organ is one frame");
_Static_assert(BLOB_INLINE_MOST <= ZSTD_FRAME_BYTES, "the bytes of a row are one frame");

#define COPY_CHUNK ((size_t)1 << 20)

/* Above this level compression needs many megabytes, so organs are compressed one at a time. Organs
 * of one frame are exempt, so that they do not wait for one of gigabytes. */
#define CHEAP_LEVEL 3

int layer_stage(struct layer *layer, uint64_t *number)
{
	const int rc = layer_make(layer);

	if (rc < 0)
		return rc;
	*number = blob_next(layer);
	return blob_create(layer, *number);
}

/* MFD_NOEXEC_SEAL of <linux/memfd.h>, which older systems lack. */
#define NOEXEC_SEAL 0x8u

/* limit, because processes may have any number of files open for writing */
#define IN_MEMORY_MOST 64u

int layer_stage_in_memory(struct layer *layer, uint64_t *number)
{
	const int rc = layer_make(layer);
	int fd = -1;

	if (rc < 0)
		return rc;
	*number = blob_next(layer);
	if (atomic_fetch_add(&layer->in_memory, 1) >= IN_MEMORY_MOST)
		errno = ENOMEM;
	else
		fd = memfd_create("organfs", MFD_CLOEXEC | NOEXEC_SEAL);
	/* Kernels before 6.3 reject the flag, later ones may require it. */
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("organfs", MFD_CLOEXEC);
	if (fd >= 0)
		return fd;
	atomic_fetch_sub(&layer->in_memory, 1);
	return -errno;
}

void layer_close_in_memory(struct layer *layer, int fd)
{
	close(fd);
	atomic_fetch_sub(&layer->in_memory, 1);
}

int layer_copy_view(int fd, uint64_t at, struct view *view, uint64_t size)
{
	char *bytes = malloc(COPY_CHUNK);
	int rc = bytes ? 0 : -ENOMEM;

	for (uint64_t from = 0; rc == 0 && from < size;) {
		const uint64_t left = size - from;
		const ssize_t got =
			view_read(view, bytes, left < COPY_CHUNK ? (size_t)left : COPY_CHUNK, from);

		if (got <= 0)
			rc = got < 0 ? (int)got : -EIO;
		else
			rc = io_write(fd, bytes, (size_t)got, at + from);
		from += got > 0 ? (uint64_t)got : 0;
	}
	free(bytes);
	return rc;
}

void layer_unstage(struct layer *layer, uint64_t number)
{
	blob_remove(layer, number);
}

void layer_seal_release(struct layer *layer, struct layer_seal *seal)
{
	if (seal->compressed && !seal->is_kept)
		blob_remove(layer, seal->number);
	free(seal->bytes);
	*seal = (struct layer_seal){ .number = 0 };
}

struct sealing {
	struct layer *layer;
	int from;
	bool in_memory;
	uint64_t size;
	uint8_t *bytes; /* ZSTD_FRAME_BYTES; the first frame until another is read */
	size_t first;	/* size of the first frame */
	struct layer_seal *seal;
};

/* Read the frame that begins at that offset to sealing->bytes. */
static int read_frame(const struct sealing *sealing, uint64_t at, size_t *n)
{
	const uint64_t left = sealing->size - at;
	ssize_t got;

	*n = left < ZSTD_FRAME_BYTES ? (size_t)left : ZSTD_FRAME_BYTES;
	got = io_read(sealing->from, sealing->bytes, *n, at);
	return got < 0 ? (int)got : (size_t)got < *n ? -EIO : 0;
}

/* Hash the file and feed it to the writer, if there is one, which has the first frame already. */
static int pass_on(struct sealing *sealing, struct zstd_writer *writer)
{
	XXH3_state_t *hash = XXH3_createState();
	int rc = hash ? 0 : -ENOMEM;
	size_t n = writer ? sealing->first : 0;

	if (rc == 0) {
		XXH3_128bits_reset(hash);
		XXH3_128bits_update(hash, sealing->bytes, n);
	}
	for (uint64_t at = n; rc == 0 && at < sealing->size; at += n) {
		rc = read_frame(sealing, at, &n);
		if (rc == 0)
			XXH3_128bits_update(hash, sealing->bytes, n);
		if (rc == 0 && writer)
			rc = zstd_writer_add(writer, sealing->bytes, n);
	}
	if (rc == 0)
		xxh128_text(XXH3_128bits_digest(hash), sealing->seal->xxh128);
	XXH3_freeState(hash);
	return rc;
}

static int compress_to(struct sealing *sealing, struct zstd_writer *writer, int fd)
{
	int rc = zstd_writer_begin(writer, fd);

	if (rc == 0)
		rc = pass_on(sealing, writer);
	if (rc == 0) {
		const int64_t size = zstd_writer_finish(writer);

		/* If only the first frame shrank, not the whole file, it is stored uncompressed. */
		rc = size < 0 ? (int)size : (uint64_t)size >= sealing->size ? -EFBIG : 0;
	}
	return rc == 0 && fsync(fd) < 0 ? -errno : rc;
}

/* Compress the stage into another file, if the first frame shrinks enough. */
static int compress(struct sealing *sealing, struct zstd_writer *writer)
{
	struct layer *layer = sealing->layer;
	uint64_t number;
	int fd, rc = zstd_writer_add(writer, sealing->bytes, sealing->first);

	if (rc < 0)
		return rc;
	if (!zstd_writer_is_worthwhile(writer))
		return -EFBIG;
	number = blob_next(layer);
	fd = blob_create(layer, number);
	if (fd < 0)
		return fd;
	rc = compress_to(sealing, writer, fd);
	close(fd);
	if (rc == 0)
		sealing->seal->number = number;
	else
		blob_remove(layer, number);
	return rc;
}

static int press(struct sealing *sealing)
{
	struct layer *layer = sealing->layer;
	const bool costly = layer->manner.level > CHEAP_LEVEL && sealing->size > ZSTD_FRAME_BYTES;
	struct zstd_writer *writer;
	int rc;

	if (!layer->manner.level || !sealing->size ||
	    sealing->size > (uint64_t)ZSTD_SEEKABLE_FRAMES_MAX * ZSTD_FRAME_BYTES)
		return -EFBIG;
	if (costly)
		pthread_mutex_lock(&layer->compress_lock);
	writer = zstd_writer_new(layer->manner.level);
	rc = writer ? compress(sealing, writer) : -ENOMEM;
	zstd_writer_free(writer);
	if (costly)
		pthread_mutex_unlock(&layer->compress_lock);
	return rc;
}

/* A small organ file is stored in a row, whose commit makes it durable. */
static int keep_inline(struct sealing *sealing, uint64_t number)
{
	struct layer_seal *seal = sealing->seal;

	seal->bytes = malloc(sealing->first + 1);
	if (!seal->bytes)
		return -ENOMEM;
	memcpy(seal->bytes, sealing->bytes, sealing->first);
	xxh128_text(XXH3_128bits(seal->bytes, sealing->first), seal->xxh128);
	seal->number = number;
	return 0;
}

/* Write a file in memory, of one frame but too large for a row, to disk. */
static int write_out(struct sealing *sealing, uint64_t number)
{
	struct layer *layer = sealing->layer;
	const int fd = blob_create(layer, number);
	int rc;

	if (fd < 0)
		return fd;
	xxh128_text(XXH3_128bits(sealing->bytes, sealing->first), sealing->seal->xxh128);
	rc = io_write(fd, sealing->bytes, sealing->first, 0);
	if (rc == 0 && fsync(fd) < 0)
		rc = -errno;
	close(fd);
	if (rc < 0)
		blob_remove(layer, number);
	return rc;
}

static int seal_as_it_is(struct sealing *sealing, uint64_t number)
{
	int rc;

	if (sealing->size <= BLOB_INLINE_MOST)
		return keep_inline(sealing, number);
	sealing->seal->number = number;
	if (sealing->in_memory)
		return write_out(sealing, number);
	/* Let the disk start writing during the hash. */
	sync_file_range(sealing->from, 0, 0, SYNC_FILE_RANGE_WRITE);
	rc = pass_on(sealing, NULL);
	return rc == 0 && fsync(sealing->from) < 0 ? -errno : rc;
}

int layer_seal_stage(struct layer *layer, uint64_t number, int fd, bool in_memory,
		     struct layer_seal *to)
{
	struct sealing sealing = { .layer = layer,
				   .from = fd,
				   .in_memory = in_memory,
				   .seal = to,
				   .bytes = malloc(ZSTD_FRAME_BYTES) };
	struct stat stat;
	int rc = -ENOMEM;

	*to = (struct layer_seal){ .number = 0 };
	if (fstat(sealing.from, &stat) < 0) {
		rc = -errno;
	} else if (sealing.bytes) {
		sealing.size = to->size = (uint64_t)stat.st_size;
		rc = read_frame(&sealing, 0, &sealing.first);
		/* Without space or gain the file is stored uncompressed. */
		to->compressed = rc == 0 && sealing.size > BLOB_INLINE_MOST && press(&sealing) == 0;
		if (rc == 0 && !to->compressed)
			rc = seal_as_it_is(&sealing, number);
	}
	free(sealing.bytes);
	return rc;
}
