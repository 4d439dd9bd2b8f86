/* SPDX-License-Identifier: MIT */
/* merge_plan_keys.c - see merge_plan_internal.h: compares metadata values of two models' files. */
#include "fs/merge/merge_plan_internal.h"
#include "fs/storage/backing.h"
#include "gguf/reader.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK ((size_t)1 << 16)

static int same_bytes(const struct plan_model *a, uint64_t a_at, const struct plan_model *b,
		      uint64_t b_at, uint64_t length)
{
	uint8_t *bytes = malloc(2 * CHUNK);
	int rc = bytes ? 1 : -ENOMEM;

	for (uint64_t at = 0; rc == 1 && at < length;) {
		const size_t n = length - at < CHUNK ? (size_t)(length - at) : CHUNK;

		rc = backing_read_with(a->file, BACKING_UNVERIFIED, bytes, n, a_at + at);
		if (rc == 0)
			rc = backing_read_with(b->file, BACKING_UNVERIFIED, bytes + CHUNK, n,
					       b_at + at);
		if (rc == 0)
			rc = memcmp(bytes, bytes + CHUNK, n) == 0;
		at += n;
	}
	free(bytes);
	return rc;
}

int plan_same_key(const struct plan_model *a, const struct plan_model *b, const char *key)
{
	const struct kv *p = gguf_find(a->gguf, key), *q = gguf_find(b->gguf, key);

	if (!p || !q)
		return !p && !q;
	if (p->type != q->type || p->length != q->length)
		return 0;
	if (p->type != KV_ARRAY && p->type != KV_STRING)
		return p->scalar == q->scalar;
	if (p->type == KV_ARRAY && (p->element != q->element || p->count != q->count))
		return 0;
	return same_bytes(a, p->offset, b, q->offset, p->length);
}

int plan_same_tokenizer(const struct plan_model *a, const struct plan_model *b)
{
	static const char *const keys[] = { "tokenizer.ggml.model", "tokenizer.ggml.tokens",
					    "tokenizer.ggml.merges" };
	int rc = 1;

	for (size_t i = 0; rc == 1 && i < sizeof(keys) / sizeof(keys[0]); i++)
		rc = plan_same_key(a, b, keys[i]);
	return rc;
}
