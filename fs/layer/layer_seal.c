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

/* Above this level compressing takes many megabytes, so one organ at a time has them. */
#define CHEAP_LEVEL 3

struct sealing {
	struct layer *layer;
	int from;
	bool in_memory;
	uint64_t size;
	struct timespec mtime;
	uint8_t *bytes; /* ZSTD_FRAME_BYTES */
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

/* Through the hash, and to the writer if there is one. */
static int pass_on(const struct sealing *sealing, struct zstd_writer *writer)
{
	XXH3_state_t *hash = XXH3_createState();
	int rc = hash ? 0 : -ENOMEM;
	size_t n;

	if (hash)
		XXH3_128bits_reset(hash);
	for (uint64_t at = 0; rc == 0 && at < sealing->size; at += n) {
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

static int compress_to(const struct sealing *sealing, int fd)
{
	const struct timespec times[2] = { sealing->mtime, sealing->mtime };
	struct zstd_writer *writer = zstd_writer_new(fd, sealing->layer->manner.level);
	int rc = writer ? pass_on(sealing, writer) : -ENOMEM;

	if (rc == 0) {
		const int64_t size = zstd_writer_finish(writer);

		/* The first frame compressed, but the whole file did not: it is kept as it is. */
		rc = size < 0 ? (int)size : (uint64_t)size >= sealing->size ? -EFBIG : 0;
	}
	zstd_writer_free(writer);
	if (rc == 0 && futimens(fd, times) < 0)
		rc = -errno;
	return rc == 0 ? layer_write_back(sealing->layer, fd) : rc;
}

/* Compress the stage into a file beside it. */
static int press(const struct sealing *sealing, unsigned number)
{
	struct layer *layer = sealing->layer;
	const bool costly = layer->manner.level > CHEAP_LEVEL;
	char name[LAYER_STAGE_NAME];
	int fd, rc;

	layer_stage_name(number, STAGED_COMPRESSED, name);
	fd = layer_create_file(layer->dir, name);
	if (fd < 0)
		return fd;
	if (costly)
		pthread_mutex_lock(&layer->compress_lock);
	rc = compress_to(sealing, fd);
	if (costly)
		pthread_mutex_unlock(&layer->compress_lock);
	close(fd);
	if (rc < 0)
		unlinkat(layer->dir, name, 0);
	return rc;
}

static bool is_worth_it(const struct sealing *sealing)
{
	const int level = sealing->layer->manner.level;
	size_t n;

	return level && sealing->size &&
	       sealing->size <= (uint64_t)ZSTD_SEEKABLE_FRAMES_MAX * ZSTD_FRAME_BYTES &&
	       read_frame(sealing, 0, &n) == 0 &&
	       zstd_write_is_worthwhile(sealing->bytes, n, level);
}

/* What has no file yet, and is no larger than a frame. */
static int write_out(const struct sealing *sealing, unsigned number)
{
	const struct timespec times[2] = { sealing->mtime, sealing->mtime };
	struct layer *layer = sealing->layer;
	char name[LAYER_STAGE_NAME];
	size_t n;
	int fd, rc = read_frame(sealing, 0, &n);

	if (rc < 0)
		return rc;
	layer_stage_name(number, "", name);
	fd = layer_create_file(layer->dir, name);
	if (fd < 0)
		return fd;
	xxh128_text(XXH3_128bits(sealing->bytes, n), sealing->seal->xxh128);
	rc = io_write(fd, sealing->bytes, n, 0);
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
	if (is_worth_it(sealing) && press(sealing, number) == 0)
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
