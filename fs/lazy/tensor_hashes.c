/* SPDX-License-Identifier: MIT */
/* tensor_hashes.c - see tensor_hashes.h. */
#include "fs/lazy/tensor_hashes.h"
#include "fs/lazy/memo.h"
#include "fs/model/model.h"
#include "fs/model/organ_file.h"
#include "fs/storage/view.h"
#include "fs/util/halt.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

/* Bytes read and hashed at a time. */
#define CHUNK ((size_t)1 << 20)

static struct memo_state *place(struct content *content, uint64_t kind)
{
	return &content->hashes[kind].once;
}

/* A hash in progress, of either kind. */
struct hash_sink {
	void (*add)(void *state, const void *bytes, size_t n);
	void *state;
	uint64_t from; /* first byte of the organ file */
	struct halt halt;
};

static int add_view(struct view *view, const struct hash_sink *hash)
{
	const uint64_t size = view_size(view);
	const size_t chunk = size < CHUNK ? (size_t)size : CHUNK;
	uint8_t *bytes = malloc(chunk);
	ssize_t n = bytes ? 0 : -ENOMEM;

	for (uint64_t at = hash->from; n >= 0 && at < size; at += (uint64_t)n) {
		n = halted(&hash->halt)
			    ? -EINTR
			    : view_read_cancellable(view, bytes, chunk, at, hash->halt.reader);
		if (n >= 0)
			hash->add(hash->state, bytes, (size_t)n);
	}
	free(bytes);
	return n < 0 ? (int)n : 0;
}

static int add_organ(struct model *model, const struct subject *subject,
		     const struct hash_sink *hash)
{
	struct view *view = organ_file_view(model, subject->tensor, subject->content);
	const int rc = view ? add_view(view, hash) : -ENOMEM;

	view_unref(view);
	return rc;
}

/* Updates fail only for NULL. */
static void add_64(void *state, const void *bytes, size_t n)
{
	XXH64_update(state, bytes, n);
}

static void add_128(void *state, const void *bytes, size_t n)
{
	XXH3_128bits_update(state, bytes, n);
}

int tensor_hash_data(struct model *model, const struct subject *subject, XXH64_state_t *state,
		     const struct halt *halt)
{
	const struct hash_sink hash = {
		.add = add_64,
		.state = state,
		.from = model_organ(model, subject->tensor, subject->content).header_size,
		.halt = *halt,
	};

	return add_organ(model, subject, &hash);
}

static int hash_data(struct model *model, const struct subject *subject, const atomic_bool *stop,
		     XXH128_hash_t *result)
{
	XXH64_state_t *state = XXH64_createState();
	int rc = -ENOMEM;

	if (!state)
		return rc;
	XXH64_reset(state, 0);
	rc = tensor_hash_data(model, subject, state, &(struct halt){ stop, NULL });
	*result = (XXH128_hash_t){ .low64 = XXH64_digest(state) };
	XXH64_freeState(state);
	return rc;
}

static int hash_file(struct model *model, const struct subject *subject, const atomic_bool *stop,
		     XXH128_hash_t *result)
{
	const struct hash_sink hash = { .add = add_128,
					.state = XXH3_createState(),
					.halt = { stop, NULL } };
	int rc = -ENOMEM;

	if (!hash.state)
		return rc;
	XXH3_128bits_reset(hash.state);
	rc = add_organ(model, subject, &hash);
	*result = XXH3_128bits_digest(hash.state);
	XXH3_freeState(hash.state);
	return rc;
}

static int compute(struct model *model, uint64_t kind, const struct subject *subject,
		   struct memo_state *once)
{
	XXH128_hash_t *result = &((struct hash_result *)once)->hash;

	return kind == HASH_FILE ? hash_file(model, subject, &once->unwanted, result)
				 : hash_data(model, subject, &once->unwanted, result);
}

struct tensor_hashes *tensor_hashes_new(struct model *model, struct pool *pool)
{
	static const struct memo_ops ops = { .size = sizeof(struct hash_result),
					     .place = place,
					     .compute = compute };
	struct tensor_hashes *hashes = calloc(1, sizeof(*hashes));

	for (enum hash_kind kind = 0; hashes && kind < HASH_KINDS; kind++) {
		hashes->kinds[kind] = memo_new(&ops, model, kind, pool);
		if (!hashes->kinds[kind]) {
			tensor_hashes_free(hashes);
			return NULL;
		}
	}
	return hashes;
}

_Static_assert(offsetof(struct hash_result, hash) == sizeof(struct memo_state),
	       "the value follows");

void tensor_hashes_stop(struct tensor_hashes *hashes)
{
	for (enum hash_kind kind = 0; hashes && kind < HASH_KINDS; kind++)
		memo_stop(hashes->kinds[kind]);
}

void tensor_hashes_free(struct tensor_hashes *hashes)
{
	for (enum hash_kind kind = 0; hashes && kind < HASH_KINDS; kind++)
		memo_free(hashes->kinds[kind]);
	free(hashes);
}

int tensor_hashes_get(struct tensor_hashes *hashes, enum hash_kind kind,
		      const struct subject *subject, const atomic_bool *stop,
		      char text[XXH128_TEXT])
{
	XXH128_hash_t hash;
	const int rc = memo_get(hashes->kinds[kind], subject, stop, &hash);

	if (rc == 0 && kind == HASH_FILE)
		xxh128_text(hash, text);
	else if (rc == 0)
		xxh64_text(hash.low64, text);
	return rc;
}

uint64_t tensor_hashes_count(struct tensor_hashes *hashes)
{
	uint64_t count = 0;

	for (enum hash_kind kind = 0; kind < HASH_KINDS; kind++)
		count += memo_count(hashes->kinds[kind]);
	return count;
}
