/* SPDX-License-Identifier: MIT */
/* fingerprint.c - see fingerprint.h. */
#include "fs/base/fingerprint.h"
#include "fs/storage/backing.h"
#include "gguf/bytes.h"
#include "gguf/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* bytes hashed at both ends of the tensor data */
#define SAMPLE ((size_t)65536)

/* bytes hashed in the middle of each tensor; most tensors that are hashed */
#define PIECE  ((uint64_t)4096)
#define PIECES ((uint32_t)4096)

/* experts of larger stacks are not hashed one by one */
#define STACK_MAX 4096u

static int hash_range(XXH3_state_t *hash, struct backing *base, uint64_t start, uint64_t end)
{
	uint8_t *bytes = malloc(SAMPLE);
	int rc = bytes ? 0 : -ENOMEM;

	while (rc == 0 && start < end) {
		const size_t n = end - start < SAMPLE ? (size_t)(end - start) : SAMPLE;

		rc = backing_read(base, bytes, n, start);
		XXH3_128bits_update(hash, bytes, rc == 0 ? n : 0);
		start += n;
	}
	free(bytes);
	return rc;
}

int fingerprint(struct backing *base, const struct gguf *gguf, char text[FINGERPRINT_TEXT])
{
	return fingerprint_file(base, gguf->data_offset, gguf->size, text);
}

int fingerprint_file(struct backing *file, uint64_t header, uint64_t file_size,
		     char text[FINGERPRINT_TEXT])
{
	XXH3_state_t *hash = XXH3_createState();
	const uint64_t data = header < file_size ? header : file_size;
	const uint64_t length = file_size - data;
	const uint64_t sample = length < SAMPLE ? length : SAMPLE;
	XXH128_hash_t value;
	uint8_t size[8];
	int rc;

	if (!hash)
		return -ENOMEM;
	XXH3_128bits_reset(hash);
	rc = hash_range(hash, file, 0, data);
	store_u64(size, file_size);
	XXH3_128bits_update(hash, size, sizeof(size));
	if (rc == 0)
		rc = hash_range(hash, file, data, data + sample);
	if (rc == 0)
		rc = hash_range(hash, file, file_size - sample, file_size);
	value = XXH3_128bits_digest(hash);
	XXH3_freeState(hash);
	xxh128_text(value, text);
	return rc;
}

int fingerprint_key(struct backing *base, char key[FINGERPRINT_KEY])
{
	const uint64_t size = backing_size(base);
	uint8_t *bytes = malloc(SAMPLE);
	const size_t n = size < SAMPLE ? (size_t)size : SAMPLE;
	int rc = bytes ? backing_read(base, bytes, n, 0) : -ENOMEM;

	if (rc == 0)
		xxh64_text(XXH3_64bits_withSeed(bytes, n, size), key);
	free(bytes);
	return rc;
}

/* Number of pieces of a tensor: one per matrix, and its end. */
static uint64_t count_ends(const struct gguf_tensor *tensor)
{
	uint64_t matrices;

	if (__builtin_mul_overflow(tensor->ne[2], tensor->ne[3], &matrices) || matrices == 0 ||
	    matrices > STACK_MAX)
		matrices = 1;
	return matrices + 1;
}

static void find_end(const struct gguf_tensor *tensor, uint64_t k, uint64_t n, uint64_t *offset,
		     uint64_t *length)
{
	const uint64_t most = tensor->size < PIECE ? tensor->size : PIECE;
	const uint64_t at = k < n - 1 ? tensor->size / (n - 1) * k : tensor->size - most;

	*offset = tensor->offset + at;
	*length = tensor->size - at < most ? tensor->size - at : most;
}

/* Announce the pieces to the disk, which reads them in its own order. Returns 0 or -EREMOTE. */
static int announce_ends(struct backing *base, const struct gguf_tensor *tensor)
{
	const uint64_t n = count_ends(tensor);
	uint64_t offset, length;
	struct backing *file;

	for (uint64_t k = 0; k < n; k++) {
		find_end(tensor, k, n, &offset, &length);
		file = length ? backing_file_at(base, &offset, &length) : NULL;
		if (file && backing_is_remote(file))
			return -EREMOTE;
		if (file)
			backing_readahead(file, (size_t)length, offset);
	}
	return 0;
}

static int hash_ends(XXH3_state_t *hash, struct backing *base, const struct gguf_tensor *tensor)
{
	const uint64_t n = count_ends(tensor);
	uint8_t bytes[PIECE];
	uint64_t offset, length;
	int rc = 0;

	for (uint64_t k = 0; rc == 0 && k < n; k++) {
		find_end(tensor, k, n, &offset, &length);
		if (length)
			rc = backing_read_with(base, BACKING_SPANS, bytes, (size_t)length, offset);
		if (rc == 0)
			XXH3_128bits_update(hash, bytes, (size_t)length);
	}
	return rc;
}

int fingerprint_contents(struct backing *base, const struct gguf *gguf, char text[FINGERPRINT_TEXT])
{
	XXH3_state_t *hash = XXH3_createState();
	int rc = hash ? 0 : -ENOMEM;

	text[0] = '\0';
	for (uint32_t i = 0; rc == 0 && i < gguf->n_tensors; i++)
		rc = announce_ends(base, &gguf->tensors[i]);
	if (rc == 0)
		XXH3_128bits_reset(hash);
	for (uint32_t i = 0; rc == 0 && i < gguf->n_tensors; i++)
		rc = hash_ends(hash, base, &gguf->tensors[i]);
	if (rc == 0)
		xxh128_text(XXH3_128bits_digest(hash), text);
	XXH3_freeState(hash);
	return rc;
}

bool fingerprint_times(struct backing *base, const struct gguf *gguf, char text[FINGERPRINT_TEXT])
{
	XXH3_state_t *hash = XXH3_createState();
	bool tell = hash && gguf->n_tensors;

	text[0] = '\0';
	if (hash)
		XXH3_128bits_reset(hash);
	for (uint32_t i = 0; tell && i < gguf->n_tensors; i++) {
		uint64_t offset = gguf->tensors[i].offset, length = gguf->tensors[i].size;
		const struct backing *file = backing_file_at(base, &offset, &length);
		const struct timespec *time = file ? &backing_stat(file)->st_mtim : NULL;
		uint8_t bytes[16];

		tell = time && time->tv_nsec && !backing_is_remote(file);
		store_u64(bytes, tell ? (uint64_t)time->tv_sec : 0);
		store_u64(bytes + 8, tell ? (uint64_t)time->tv_nsec : 0);
		XXH3_128bits_update(hash, bytes, sizeof(bytes));
	}
	if (tell)
		xxh128_text(XXH3_128bits_digest(hash), text);
	XXH3_freeState(hash);
	return tell;
}

/* Place of a tensor's piece. NULL: in no file, or across two. */
static struct backing *find_piece(struct backing *base, const struct gguf_tensor *tensor,
				  uint64_t *offset, uint64_t *length)
{
	const uint64_t skip = tensor->size / 2 / PIECE * PIECE, left = tensor->size - skip;
	const uint64_t whole = left < PIECE ? left : PIECE;
	struct backing *file = NULL;

	*offset = tensor->offset + skip;
	*length = whole;
	if (whole)
		file = backing_file_at(base, offset, length);
	/* Each piece would cost a request to a server. */
	return file && *length == whole && !backing_is_remote(file) && !backing_is_revoked(file)
		       ? file
		       : NULL;
}

static void hash_pieces(XXH3_state_t *hash, struct backing *base, const struct gguf *gguf)
{
	const uint32_t step = gguf->n_tensors / PIECES + 1;
	uint8_t bytes[PIECE];
	uint64_t offset, length;
	struct backing *file;

	/* Announce the pieces to the disk, which can then read them in its own order. */
	for (uint32_t i = 0; i < gguf->n_tensors; i += step) {
		file = find_piece(base, &gguf->tensors[i], &offset, &length);
		if (file)
			backing_readahead(file, (size_t)length, offset);
	}
	for (uint32_t i = 0; i < gguf->n_tensors; i += step) {
		file = find_piece(base, &gguf->tensors[i], &offset, &length);
		if (file &&
		    backing_read_with(file, BACKING_SPANS, bytes, (size_t)length, offset) == 0)
			XXH3_128bits_update(hash, bytes, (size_t)length);
	}
}

uint32_t fingerprint_seconds(struct backing *base, const struct gguf *gguf)
{
	uint64_t offset = 0, length = gguf->data_offset;
	XXH3_state_t *hash = XXH3_createState();
	struct backing *file = backing_file_at(base, &offset, &length);
	uint32_t seconds = FINGERPRINT_DAY;
	char times[FINGERPRINT_TEXT];

	if (!hash)
		return seconds;
	XXH3_128bits_reset(hash);
	if (file && length > gguf->size)
		length = gguf->size;
	if (file)
		hash_range(hash, file, offset, offset + length);
	if (fingerprint_times(base, gguf, times))
		XXH3_128bits_update(hash, times, strlen(times));
	else
		hash_pieces(hash, base, gguf);
	seconds = (uint32_t)(XXH3_128bits_digest(hash).low64 % FINGERPRINT_DAY) + 1;
	XXH3_freeState(hash);
	return seconds;
}
