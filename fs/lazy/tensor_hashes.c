/* SPDX-License-Identifier: MIT */
/* tensor_hashes.c - see tensor_hashes.h. */
#include "fs/lazy/tensor_hashes.h"
#include "fs/model/organ_file.h"

#include <errno.h>
#include <stdlib.h>

/* Bytes that are read and hashed at once. */
#define CHUNK ((size_t)1 << 20)

/* What is found out of a kind. */
struct hash_memo {
	struct tensor_hashes *hashes;
	enum hash_kind kind;
	struct memo *memo;
};

struct tensor_hashes {
	struct model *model;
	struct hash_memo kinds[HASH_KINDS];
	struct hash_result base[][HASH_KINDS]; /* one a tensor */
};

static struct hash_result *hash_result_of(struct tensor_hashes *hashes, enum hash_kind kind,
					  const struct subject *subject)
{
	return subject->content ? &subject->content->hashes[kind]
				: &hashes->base[subject->tensor][kind];
}

static struct memo_state *place(void *context, const struct subject *subject)
{
	const struct hash_memo *sums = context;

	return &hash_result_of(sums->hashes, sums->kind, subject)->once;
}

/* A hash being made, of either kind. */
struct hash_sink {
	void (*add)(void *state, const void *bytes, size_t n);
	void *state;
	uint64_t from; /* of the organ file */
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

/* These fail only where there are no bytes. */
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

static int find(void *context, const struct subject *subject, struct memo_state *once)
{
	const struct hash_memo *sums = context;
	struct tensor_hashes *hashes = sums->hashes;
	XXH128_hash_t *result = &hash_result_of(hashes, sums->kind, subject)->hash;

	if (sums->kind == HASH_FILE)
		return hash_file(hashes->model, subject, &once->unwanted, result);
	return hash_data(hashes->model, subject, &once->unwanted, result);
}

struct tensor_hashes *tensor_hashes_new(struct model *model, struct pool *pool)
{
	const size_t n = model->gguf->n_tensors;
	/* Zeros are hashes that nobody has asked for: no page of it is touched before. */
	struct tensor_hashes *hashes = calloc(1, sizeof(*hashes) + n * sizeof(hashes->base[0]));

	if (!hashes)
		return NULL;
	hashes->model = model;
	for (enum hash_kind kind = 0; kind < HASH_KINDS; kind++) {
		struct hash_memo *sums = &hashes->kinds[kind];
		const struct memo_ops memo_ops = { place, find, sums };

		*sums = (struct hash_memo){ hashes, kind, memo_new(&memo_ops, pool) };
		if (!sums->memo) {
			tensor_hashes_free(hashes);
			return NULL;
		}
	}
	return hashes;
}

void tensor_hashes_stop(struct tensor_hashes *hashes)
{
	for (enum hash_kind kind = 0; kind < HASH_KINDS; kind++)
		memo_stop(hashes->kinds[kind].memo);
}

void tensor_hashes_free(struct tensor_hashes *hashes)
{
	if (!hashes)
		return;
	for (enum hash_kind kind = 0; kind < HASH_KINDS; kind++)
		memo_free(hashes->kinds[kind].memo);
	free(hashes);
}

int tensor_hashes_prepare(struct tensor_hashes *hashes, enum hash_kind kind,
			  const struct subject *subjects, size_t n, const atomic_bool *stop)
{
	return memo_prepare(hashes->kinds[kind].memo, subjects, n, stop);
}

int tensor_hashes_get(struct tensor_hashes *hashes, enum hash_kind kind,
		      const struct subject *subject, const atomic_bool *stop,
		      char text[XXH128_TEXT])
{
	const int rc = memo_get(hashes->kinds[kind].memo, subject, stop);
	XXH128_hash_t hash;

	if (rc < 0)
		return rc;
	hash = hash_result_of(hashes, kind, subject)->hash;
	if (kind == HASH_FILE)
		xxh128_text(hash, text);
	else
		xxh64_text(hash.low64, text);
	return 0;
}

void tensor_hashes_inherit(struct tensor_hashes *hashes, struct tensor_hashes *old)
{
	for (uint32_t i = 0; i < hashes->model->gguf->n_tensors; i++) {
		uint32_t was;

		if (!model_shares_tensor(hashes->model, i, old->model, &was))
			continue;
		for (enum hash_kind kind = 0; kind < HASH_KINDS; kind++) {
			struct hash_result *to = &hashes->base[i][kind];
			const struct hash_result *from = &old->base[was][kind];

			if (memo_inherit(hashes->kinds[kind].memo, &to->once, old->kinds[kind].memo,
					 &from->once))
				to->hash = from->hash;
		}
	}
}

uint64_t tensor_hashes_count(struct tensor_hashes *hashes)
{
	uint64_t count = 0;

	for (enum hash_kind kind = 0; kind < HASH_KINDS; kind++)
		count += memo_count(hashes->kinds[kind].memo);
	return count;
}
