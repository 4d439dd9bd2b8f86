/* SPDX-License-Identifier: MIT */
/* digests.c - see digests.h. */
#include "fs/lazy/tensor_hashes.h"
#include "fs/model/organ_file.h"

#include <errno.h>
#include <stdlib.h>

/* Bytes that are read and hashed at once. */
#define CHUNK ((size_t)1 << 20)

/* What is found out of a kind. */
struct sums {
	struct digests *digests;
	enum digest_kind kind;
	struct onces *onces;
};

struct digests {
	struct model *model;
	struct sums kinds[DIGEST_KINDS];
	struct digest base[][DIGEST_KINDS]; /* one a tensor */
};

static struct digest *digest_of(struct digests *digests, enum digest_kind kind,
				const struct subject *subject)
{
	return subject->content ? &subject->content->digests[kind]
				: &digests->base[subject->tensor][kind];
}

static struct once *place(void *context, const struct subject *subject)
{
	const struct sums *sums = context;

	return &digest_of(sums->digests, sums->kind, subject)->once;
}

/* A hash being made, of either kind. */
struct hash {
	void (*add)(void *state, const void *bytes, size_t n);
	void *state;
	uint64_t from; /* of the organ file */
	const atomic_bool *stop, *ending;
};

static bool is_set(const atomic_bool *flag)
{
	return flag && atomic_load_explicit(flag, memory_order_relaxed);
}

static int add_view(struct view *view, const struct hash *hash)
{
	const uint64_t size = view_size(view);
	const size_t chunk = size < CHUNK ? (size_t)size : CHUNK;
	uint8_t *bytes = malloc(chunk);
	ssize_t n = bytes ? 0 : -ENOMEM;

	for (uint64_t at = hash->from; n >= 0 && at < size; at += (uint64_t)n) {
		n = is_set(hash->stop) || is_set(hash->ending)
			    ? -EINTR
			    : view_read_until(view, bytes, chunk, at, hash->stop);
		if (n >= 0)
			hash->add(hash->state, bytes, (size_t)n);
	}
	free(bytes);
	return n < 0 ? (int)n : 0;
}

static int add_organ(struct model *model, const struct subject *subject, const struct hash *hash)
{
	struct view *view = files_organ(model, subject->tensor, subject->content);
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

int digest_data(struct model *model, const struct subject *subject, XXH64_state_t *state,
		const atomic_bool *stop, const atomic_bool *ending)
{
	const struct hash hash = {
		.add = add_64,
		.state = state,
		.from = model_organ(model, subject->tensor, subject->content).header_size,
		.stop = stop,
		.ending = ending,
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
	rc = digest_data(model, subject, state, stop, NULL);
	*result = (XXH128_hash_t){ .low64 = XXH64_digest(state) };
	XXH64_freeState(state);
	return rc;
}

static int hash_file(struct model *model, const struct subject *subject, const atomic_bool *stop,
		     XXH128_hash_t *result)
{
	const struct hash hash = { .add = add_128, .state = XXH3_createState(), .stop = stop };
	int rc = -ENOMEM;

	if (!hash.state)
		return rc;
	XXH3_128bits_reset(hash.state);
	rc = add_organ(model, subject, &hash);
	*result = XXH3_128bits_digest(hash.state);
	XXH3_freeState(hash.state);
	return rc;
}

static int find(void *context, const struct subject *subject, struct once *once)
{
	const struct sums *sums = context;
	struct digests *digests = sums->digests;
	XXH128_hash_t *result = &digest_of(digests, sums->kind, subject)->hash;

	if (sums->kind == DIGEST_FILE)
		return hash_file(digests->model, subject, &once->unwanted, result);
	return hash_data(digests->model, subject, &once->unwanted, result);
}

struct digests *digests_new(struct model *model, struct pool *pool)
{
	const size_t n = model->gguf->n_tensors;
	/* Zeros are digests that nobody has asked for: no page of it is touched before. */
	struct digests *digests = calloc(1, sizeof(*digests) + n * sizeof(digests->base[0]));

	if (!digests)
		return NULL;
	digests->model = model;
	for (enum digest_kind kind = 0; kind < DIGEST_KINDS; kind++) {
		struct sums *sums = &digests->kinds[kind];
		const struct once_kind once_kind = { place, find, sums };

		*sums = (struct sums){ digests, kind, onces_new(&once_kind, pool) };
		if (!sums->onces) {
			digests_free(digests);
			return NULL;
		}
	}
	return digests;
}

void digests_stop(struct digests *digests)
{
	for (enum digest_kind kind = 0; kind < DIGEST_KINDS; kind++)
		onces_stop(digests->kinds[kind].onces);
}

void digests_free(struct digests *digests)
{
	if (!digests)
		return;
	for (enum digest_kind kind = 0; kind < DIGEST_KINDS; kind++)
		onces_free(digests->kinds[kind].onces);
	free(digests);
}

int digests_prepare(struct digests *digests, enum digest_kind kind, const struct subject *subjects,
		    size_t n, const atomic_bool *stop)
{
	return onces_prepare(digests->kinds[kind].onces, subjects, n, stop);
}

int digests_get(struct digests *digests, enum digest_kind kind, const struct subject *subject,
		const atomic_bool *stop, char text[XXH128_TEXT])
{
	const int rc = onces_get(digests->kinds[kind].onces, subject, stop);
	XXH128_hash_t hash;

	if (rc < 0)
		return rc;
	hash = digest_of(digests, kind, subject)->hash;
	if (kind == DIGEST_FILE)
		xxh128_text(hash, text);
	else
		xxh64_text(hash.low64, text);
	return 0;
}

void digests_inherit(struct digests *digests, struct digests *old)
{
	for (uint32_t i = 0; i < digests->model->gguf->n_tensors; i++) {
		uint32_t was;

		if (!model_has_of(digests->model, i, old->model, &was))
			continue;
		for (enum digest_kind kind = 0; kind < DIGEST_KINDS; kind++) {
			struct digest *to = &digests->base[i][kind];
			const struct digest *from = &old->base[was][kind];

			if (onces_inherit(digests->kinds[kind].onces, &to->once,
					  old->kinds[kind].onces, &from->once))
				to->hash = from->hash;
		}
	}
}

uint64_t digests_count(struct digests *digests)
{
	uint64_t count = 0;

	for (enum digest_kind kind = 0; kind < DIGEST_KINDS; kind++)
		count += onces_count(digests->kinds[kind].onces);
	return count;
}
