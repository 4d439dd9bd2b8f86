/* SPDX-License-Identifier: MIT */
/* backing_verify.c - see backing.h: the XXH128 that a backing's bytes must have. The first read
 * compares it. */
#include "fs/storage/backing_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* bytes read and hashed at a time */
#define HASH_CHUNK ((size_t)1 << 16)

void backing_expect_hash(struct backing *backing, const char xxh128[XXH128_TEXT])
{
	memcpy(backing->expected, xxh128, XXH128_TEXT);
	atomic_store(&backing->trust, UNVERIFIED);
}

bool backing_is_unverified(const struct backing *backing)
{
	return atomic_load(&backing->trust) == UNVERIFIED;
}

/* Hash all bytes, then check that the file is unchanged. */
static int hash_all(struct backing *backing, XXH3_state_t *hash, const atomic_bool *stop)
{
	uint8_t *bytes = malloc(HASH_CHUNK);
	int rc = bytes ? 0 : -ENOMEM;

	for (uint64_t at = 0; rc == 0 && at < backing->size;) {
		const uint64_t left = backing->size - at;
		const size_t n = left < HASH_CHUNK ? (size_t)left : HASH_CHUNK;

		rc = stop && atomic_load(stop) ? -EINTR
					       : backing_read_raw(backing, 0, bytes, n, at, stop);
		if (rc == 0)
			XXH3_128bits_update(hash, bytes, n);
		at += n;
	}
	free(bytes);
	return rc < 0 ? rc : backing_check(backing);
}

/* Compare the hash of all bytes with the expected one. A read error leaves it to be verified. */
static int verify(struct backing *backing, const atomic_bool *stop)
{
	XXH3_state_t *hash = XXH3_createState();
	char has[XXH128_TEXT], why[160];
	int rc = -ENOMEM;

	if (hash) {
		XXH3_128bits_reset(hash);
		rc = hash_all(backing, hash, stop);
	}
	if (rc == 0) {
		xxh128_text(XXH3_128bits_digest(hash), has);
		if (strcmp(has, backing->expected) == 0) {
			atomic_store(&backing->trust, TRUSTED);
		} else {
			atomic_store(&backing->trust, CORRUPT);
			snprintf(why, sizeof(why),
				 "corrupt: its XXH128 is %s, but the layer has recorded %s", has,
				 backing->expected);
			rc = backing_fail(backing, why);
		}
	}
	XXH3_freeState(hash);
	return rc;
}

int backing_verify(struct backing *backing, const atomic_bool *stop)
{
	int rc = 0;

	if (atomic_load(&backing->trust) == UNVERIFIED) {
		pthread_mutex_lock(&backing->lock);
		if (atomic_load(&backing->trust) == UNVERIFIED)
			rc = verify(backing, stop);
		pthread_mutex_unlock(&backing->lock);
	}
	return rc == 0 && atomic_load(&backing->trust) == CORRUPT ? -EIO : rc;
}
