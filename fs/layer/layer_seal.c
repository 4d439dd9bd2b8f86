/* SPDX-License-Identifier: MIT */
/* layer_seal.c - see layer.h: a stage on its way into the layer. Its bytes are hashed, compressed
 * if that is worth it, and made durable, once: a compressed organ is not made durable as it was,
 * too. */
#include "fs/layer/layer_internal.h"
#include "fs/layer/layer_open.h"
#include "fs/storage/zstd_seekable.h"
#include "fs/util/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(LAYER_SMALL <= ZSTD_FRAME_BYTES, "what is small is one frame");

/* Above this level compressing takes many megabytes, so one organ at a time has them; one of a
 * single frame, which is done at once, does not wait for one of gigabytes. */
#define CHEAP_LEVEL 3

struct sealing {
	struct layer *layer;
	int from;
	bool in_memory;
	uint64_t size;
	struct timespec mtime;
	uint8_t *bytes; /* ZSTD_FRAME_BYTES */
	size_t first;	/* so many of them are those of the first frame; 0: that was not read yet */
	struct layer_seal *seal;
};

/* The bytes at a frame's start, into sealing->bytes. */
static int read_frame(const struct sealing *sealing, uint64_t at, size_t *n)
{
	const uint64_t left = sealing->size - at;
	ssize_t got;

	*n = left < ZSTD_FRAME_BYTES ? (size_t)left : ZSTD_FRAME_BYTES;
	got = io_read(sealing->from, sealing->bytes, *n, at);
	return got < 0 ? (int)got : (size_t)got < *n ? -EIO : 0;
}

static int read_first(struct sealing *sealing)
{
	size_t n;
	int rc;

	if (sealing->first)
		return 0;
	rc = read_frame(sealing, 0, &n);
	if (rc == 0)
		sealing->first = n;
	return rc;
}

/* Through the hash, and to the writer if there is one, which has the first frame. */
static int pass_on(struct sealing *sealing, struct zstd_writer *writer)
{
	XXH3_state_t *hash = XXH3_createState();
	int rc = hash ? read_first(sealing) : -ENOMEM;
	size_t n = sealing->first;

	if (rc == 0) {
		XXH3_128bits_reset(hash);
		XXH3_128bits_update(hash, sealing->bytes, n);
	}
	sealing->first = 0;
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
	const struct timespec times[2] = { sealing->mtime, sealing->mtime };
	int rc = zstd_writer_begin(writer, fd);

	if (rc == 0)
		rc = pass_on(sealing, writer);
	if (rc == 0) {
		const int64_t size = zstd_writer_finish(writer);

		/* The first frame compressed, but the whole file did not: it is kept as it is. */
		rc = size < 0 ? (int)size : (uint64_t)size >= sealing->size ? -EFBIG : 0;
	}
	if (rc == 0 && futimens(fd, times) < 0)
		rc = -errno;
	return rc == 0 ? layer_write_back(sealing->layer, fd) : rc;
}

/* Compress the stage into a file beside it, if its first frame says that this is worth it. */
static int compress(struct sealing *sealing, struct zstd_writer *writer, unsigned number)
{
	struct layer *layer = sealing->layer;
	char name[LAYER_STAGE_NAME];
	int fd, rc = read_first(sealing);

	if (rc == 0)
		rc = zstd_writer_add(writer, sealing->bytes, sealing->first);
	if (rc < 0)
		return rc;
	if (!zstd_writer_is_worthwhile(writer))
		return -EFBIG;
	layer_stage_name(number, STAGED_COMPRESSED, name);
	fd = layer_create_file(layer->dir, name);
	if (fd < 0)
		return fd;
	rc = compress_to(sealing, writer, fd);
	close(fd);
	if (rc < 0)
		unlinkat(layer->dir, name, 0);
	return rc;
}

static int press(struct sealing *sealing, unsigned number)
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
	rc = writer ? compress(sealing, writer, number) : -ENOMEM;
	zstd_writer_free(writer);
	if (costly)
		pthread_mutex_unlock(&layer->compress_lock);
	return rc;
}

/* What has no file yet, and is no larger than a frame. */
static int write_out(struct sealing *sealing, unsigned number)
{
	const struct timespec times[2] = { sealing->mtime, sealing->mtime };
	struct layer *layer = sealing->layer;
	char name[LAYER_STAGE_NAME];
	int fd, rc = read_first(sealing);

	if (rc < 0)
		return rc;
	layer_stage_name(number, "", name);
	fd = layer_create_file(layer->dir, name);
	if (fd < 0)
		return fd;
	xxh128_text(XXH3_128bits(sealing->bytes, sealing->first), sealing->seal->xxh128);
	rc = io_write(fd, sealing->bytes, sealing->first, 0);
	if (rc == 0 && futimens(fd, times) < 0)
		rc = -errno;
	if (rc == 0)
		rc = layer_write_back(layer, fd);
	close(fd);
	if (rc < 0)
		unlinkat(layer->dir, name, 0);
	return rc;
}

static int seal(struct sealing *sealing, unsigned number)
{
	int rc;

	sealing->seal->kind = LAYER_COMPRESSED;
	/* What cannot be compressed, for want of room too, is kept as it is. */
	if (press(sealing, number) == 0)
		return 0;
	sealing->seal->kind = LAYER_ORGAN;
	if (sealing->in_memory)
		return write_out(sealing, number);
	/* The disk may begin while we hash. */
	sync_file_range(sealing->from, 0, 0, SYNC_FILE_RANGE_WRITE);
	rc = pass_on(sealing, NULL);
	return rc == 0 ? layer_write_back(sealing->layer, sealing->from) : rc;
}

int layer_seal_stage(struct layer *layer, unsigned number, int fd, bool in_memory,
		     struct layer_seal *to)
{
	struct sealing sealing = { .layer = layer,
				   .from = fd,
				   .in_memory = in_memory,
				   .seal = to,
				   .bytes = malloc(ZSTD_FRAME_BYTES) };
	struct stat stat;
	int rc = -ENOMEM;

	if (fstat(sealing.from, &stat) < 0) {
		rc = -errno;
	} else if (sealing.bytes) {
		sealing.size = (uint64_t)stat.st_size;
		sealing.mtime = stat.st_mtim;
		rc = seal(&sealing, number);
	}
	free(sealing.bytes);
	return rc;
}
