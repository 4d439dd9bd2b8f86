/* SPDX-License-Identifier: MIT */
/* basis.c - see basis.h. */
#include "fs/base/basis.h"
#include "gguf/cursor.h"
#include "gguf/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK ((size_t)1 << 16)

bool basis_is_key(const char *key, size_t n)
{
	static const char part[] = ".hadamard.";

	return memmem(key, n, part, sizeof(part) - 1) != NULL;
}

static int hash_value(XXH3_state_t *state, const struct kv *kv, const struct source *source,
		      uint8_t *chunk)
{
	const uint64_t kind[] = { kv->type, kv->element, kv->count };
	int rc = 0;

	XXH3_128bits_reset(state);
	XXH3_128bits_update(state, kv->key, kv->key_length);
	XXH3_128bits_update(state, kind, sizeof(kind));
	for (uint64_t at = 0; rc == 0 && at < kv->length; at += CHUNK) {
		const size_t n = kv->length - at < CHUNK ? (size_t)(kv->length - at) : CHUNK;

		rc = source->read_at(source->context, chunk, n, kv->offset + at);
		if (rc == 0)
			XXH3_128bits_update(state, chunk, n);
	}
	return rc;
}

int basis_read(const struct gguf *gguf, const struct source *source, XXH128_hash_t *basis)
{
	XXH3_state_t *state = XXH3_createState();
	uint8_t *chunk = malloc(CHUNK);
	int rc = state && chunk ? 0 : -ENOMEM;

	*basis = (XXH128_hash_t){ 0, 0 };
	for (uint32_t i = 0; rc == 0 && i < gguf->n_kv; i++) {
		const struct kv *kv = &gguf->kv[i];
		XXH128_hash_t one;

		if (!basis_is_key(kv->key, kv->key_length))
			continue;
		rc = hash_value(state, kv, source, chunk);
		one = XXH3_128bits_digest(state);
		basis->low64 += one.low64;
		basis->high64 += one.high64;
	}
	free(chunk);
	XXH3_freeState(state);
	return rc;
}

int basis_same(const struct gguf *a, const struct source *bytes_of_a, const struct gguf *b,
	       const struct source *bytes_of_b)
{
	XXH128_hash_t of_a, of_b;
	int rc = basis_read(a, bytes_of_a, &of_a);

	if (rc == 0)
		rc = basis_read(b, bytes_of_b, &of_b);
	return rc < 0 ? rc : XXH128_isEqual(of_a, of_b);
}
